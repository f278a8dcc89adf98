"""Tables for papers: what is chosen, and what is bold."""

from tests.experiments.rows import problem_spec
from tests.experiments.tables.conftest import times

from dualgap.experiments.tables.chosen import paper_table

EASY, HARD = (
    problem_spec(name, params={"kernel": {"name": "linear"}, "C": 1.0})
    for name in ("moons", "rings")
)
FAST, NEAR, SLOW = [1.0, 1.1, 1.2], [1.05, 1.1, 1.3], [3.0, 3.1, 3.2]


def _names(table):
    """Return the names of the rows and of the columns."""
    return [row[0].text for row in table.rows], [column.head for column in table.columns[1:]]


def _bold(table):
    """Return the columns with winners."""
    return {
        column.head
        for row in table.rows
        for column, cell in zip(table.columns, row, strict=True)
        if cell.bold
    }


def test_a_row_is_chosen_by_its_name_as_the_table_prints_it(results):
    folder = results([*times(EASY, "smo", FAST), *times("moons C=10", "smo", FAST)])
    assert _names(paper_table(folder, rows=["moons / C=1e1"]))[0] == ["moons C=10"]


def test_only_listed_solvers_compete(results):
    runs = [
        *times(EASY, "smo", FAST),
        *times(EASY, "libsvm", SLOW),
        *times(EASY, "sgd", [9] * 3),
    ]
    table = paper_table(results(runs), columns=["sgd", "libsvm"])
    assert _names(table)[1] == ["sgd", "libsvm"]
    assert _bold(table) == {"libsvm"}


def test_rows_and_columns_are_ordered_and_may_be_transposed(results):
    runs = [run for p in (EASY, HARD) for s in ("smo", "sgd") for run in times(p, s, FAST)]
    folder = results(runs)
    table = paper_table(folder, rows=["rings", "moo*"], columns=["sgd", "smo"])
    assert _names(table) == (["rings", "moons"], ["sgd", "smo"])
    assert "All problems: soft_margin_dual linear C=1." in table.title
    turned = paper_table(folder, rows=["sgd", "smo"], columns=["rings", "moo*"], by="solver")
    assert _names(turned) == _names(table)[::-1]
    assert [row[1:] for row in turned.rows] == [
        [*column] for column in list(zip(*table.rows, strict=True))[1:]
    ]


def test_columns_may_be_listed_with_commas_which_names_may_have_too(command, results):
    steps = [f"projected_gradient (steps={n}, variant=plain)" for n in (5, 9)]
    folder = results([run for s in ("smo", "sgd", *steps) for run in times(EASY, s, FAST, label=s)])
    assert _names(paper_table(folder, columns=["sgd, smo"]))[1] == ["sgd", "smo"]
    for listed in ([f"{steps[1]},sgd"], [steps[1], "sgd"]):
        assert _names(paper_table(folder, columns=listed))[1] == [steps[1], "sgd"]
    refused = command("table", folder, "--columns", "smo,svd", code=2).output
    assert "no solver matches 'svd'; available, closest first: 'sgd'" in " ".join(refused.split())


def test_threads_are_those_recorded_of_the_solvers_in_the_table(results):
    runs = [*times(EASY, "smo", FAST, threads=2.0), *times(EASY, "libsvm", SLOW, threads=1.0)]
    runs += times(EASY, "sgd", SLOW, threads=2.0)
    folder = results(runs)
    assert "Threads of every solver: 2, except libsvm 1." in paper_table(folder).title
    assert "Threads of every solver: 2." in paper_table(folder, columns=["smo"]).title
    assert (
        "Threads of every solver: 1." in paper_table(folder, columns=["libsvm"], target=1e-3).title
    )


def test_a_folder_without_runs_is_refused_in_a_sentence(command, results):
    folder = results([])
    message = command("table", folder, code=2)
    assert message.output == f"Results folder {folder} has no runs of solvers to make a table of.\n"
