import errno
import os
import re
import signal
import subprocess
import sys
from importlib.metadata import PackageNotFoundError

import psutil
import pytest
from click.testing import CliRunner
from tests.experiments.functions import (
    Failing,
    in_this_process,
    log_of,
    posing,
    run_case,
    wait_for,
)
from tests.experiments.rows import run, stored
from tests.halves import quick_cases

from dualgap.experiments import load_results
from dualgap.experiments.cases.records import failed
from dualgap.experiments.cli import main
from dualgap.experiments.store import disk
from dualgap.experiments.store.reading import RunFolder

GRID = posing(C=[1, 2, 4])


def test_help_has_a_line_for_each_command_that_80_columns_hold(command, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    lines = command("--help").output.partition("Commands:\n")[2].splitlines()
    assert [line.split()[0] for line in lines] == sorted(main.commands)
    assert all(line.endswith(".") and not line.endswith("...") for line in lines)


def test_a_run_writes_its_tables_and_prints_their_folder(command, write):
    result = command("run", write())
    for name in ("summary.md", "runs.csv", "runs.parquet", "traces.parquet"):
        assert f"runs/small/{name}" in result.output
    assert "solved" in result.output
    assert load_results("runs/small")["verdict"].tolist() == ["solved"]
    again = command("run", write(), code=2)
    assert "--resume" in again.output
    command("run", write(), "--resume")


def test_rerun_repeats_runs_of_a_status(command, write, tmp_path):
    arguments = ["run", write(), "--out", "x"]
    with in_this_process(lambda case: failed(case, "crashed", "boom")):
        command(*arguments, code=1)
        command(*arguments, "--resume", code=1)
    with in_this_process():
        result = command(*arguments, "--rerun", "status:crashed", "--rerun", "status:time_limit")
    assert "1/1" in result.output
    assert len(RunFolder("x").sessions) == 2
    assert set(load_results("x")["status"]) == {"finished"}


@pytest.mark.usefixtures("in_process")
def test_a_folder_of_runs_is_resumed_in_its_location(command, finished, tmp_path):
    finished(GRID)
    runs = log_of("x")
    runs.write_text("".join(runs.read_text().splitlines(keepends=True)[:2]))
    assert "1/1" in command("run", "x", "--resume").output
    assert len(load_results("x")) == 3
    assert not (tmp_path / "runs").exists()


@pytest.mark.usefixtures("in_process")
def test_rerun_refuses_a_solver_missing_from_one_of_several_experiments(command, tmp_path):
    (tmp_path / "d").mkdir()
    for name, solver in (("a", "smo"), ("b", "libsvm")):
        text = posing(solvers=f"[{solver}]").replace("name: small", f"name: {name}")
        (tmp_path / "d" / f"{name}.yaml").write_text(text)
    command("run", "d", "--out", "o")
    refused = command("run", "d", "--out", "o", "--rerun", "solver:smo", code=2)
    assert "--rerun: 'smo' selects nothing; available, closest first: 'libsvm'" in refused.output
    assert len(log_of("o/a").read_text().splitlines()) == 1


@pytest.mark.parametrize("arguments", [["report", "."], ["selftest", "smo"]])
def test_an_interrupted_command_reports_it(command, monkeypatch, arguments):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("dualgap.experiments.report.write_report", interrupted)
    monkeypatch.setattr("dualgap.experiments.selftest.try_solver", interrupted)
    assert command(*arguments, code=130).output == "interrupted\n"


def test_rerun_lists_the_accepted_values(command, write):
    result = command("run", write(), "--rerun", "status:slow", code=2)
    assert "crashed" in result.output
    assert "wrong" in result.output
    assert "got 'slow'" in result.output
    for value in ("smo", "label:smo", "solver:", "status"):
        result = command("run", write(), "--rerun", value, code=2)
        assert f"must be solver:NAME or status:NAME; got {value!r}" in result.output


@pytest.mark.usefixtures("in_process")
def test_another_plan_replaces_that_of_the_folder_when_forced(command, finished, write):
    finished(GRID)
    other = write(GRID.replace("4]", "8]"))
    result = command("run", other, "--out", "x", "--resume", "--force")
    assert "1/1" in result.output
    (earlier,) = RunFolder("x").manifest["earlier"]
    assert earlier["differs"] == ["another plan (1 of 3 runs removed, 1 added)"]
    assert load_results("x")["C"].tolist() == [1, 2, 8]


@pytest.mark.usefixtures("in_process")
def test_problems_keep_their_names_when_another_plan_is_forced(command, write):
    text = posing(dataset="{name: two_moons, n: 40}")
    command("run", write(text), "--out", "x")
    command("run", write(text.replace("n: 40", "n: [40, 60]")), "--out", "x", "--force")
    assert load_results("x")["problem"].notna().all()
    assert load_results("x")["problem_id"].nunique() == 2


@pytest.mark.usefixtures("in_process")
def test_an_interrupted_proof_is_resumed_and_the_summary_says_proven(command, write, tmp_path):
    text = posing(C=1, solvers="[{name: smo, tol: 1e-8}]", repetitions=2, target="proven")
    arguments = ["run", write(text), "--out", "x"]
    command(*arguments)
    runs = log_of("x")
    runs.write_text(runs.read_text().splitlines()[0] + "\n")
    command(*arguments, "--resume")
    results = load_results("x")
    assert list(results["bound_source"]) == ["proven: alpha"] * 2
    assert "solved, proven" in (tmp_path / "x/summary.md").read_text()
    write(text.replace("proven", "certified"))
    assert "also keeps 2 runs that are not in this plan" in command(*arguments, "--resume").output


def test_a_run_stopped_by_a_full_disk_can_be_resumed(command, write, monkeypatch):
    arguments = ["run", write(GRID), "--out", "x", "--resume"]
    with monkeypatch.context() as patch:
        runs = []

        def run(case):
            runs.append(case)
            if len(runs) == 2:
                patch.setattr(disk, "os", Failing("write", errno.ENOSPC))
            return run_case(case)

        with in_this_process(run):
            completed = command(*arguments, code=1)
    assert "a run could not be recorded" in completed.output
    assert len(load_results("x")) == 1
    with in_this_process():
        command(*arguments)
    assert load_results("x")["status"].tolist() == ["finished"] * 3


@pytest.mark.exhaustive
def test_an_output_other_than_a_regular_file_is_written_but_not_replaced(command, write, tmp_path):
    stored(tmp_path / "x", [run()])
    (tmp_path / "full").symlink_to("/dev/full")
    (tmp_path / "link").symlink_to("page.html")
    for arguments in (["report", "x"], ["table", "x"]):
        refused = command(*arguments, "--out", "full", code=1)
        assert "Cannot write full: No space left on device" in refused.output
        assert (tmp_path / "full").is_symlink()
        command(*arguments, "--out", "link")
        assert (tmp_path / "link").is_symlink()
        assert (tmp_path / "page.html").stat().st_size
        command(*arguments, "--out", "nowhere/x", code=2)
    refused = command("run", write(), "--out", "page.html", code=2)
    assert refused.output == "page.html: is not a folder; choose another --out\n"


@pytest.mark.usefixtures("in_process")
def test_tables_that_cannot_be_written_fail_the_run(command, finished, tmp_path):
    path = finished()
    (tmp_path / "x/runs.csv").unlink()
    (tmp_path / "x/runs.csv").mkdir()
    result = command("run", path, "--resume", "--out", "x", code=1)
    assert "Cannot write the tables of x: Is a directory" in result.output


@pytest.mark.parametrize(
    ("arguments", "output", "words"),
    [
        (["--version"], "/dev/full", "the disk is full"),
        pytest.param(
            ["list", "columns"], None, "its reader has closed it", marks=pytest.mark.exhaustive
        ),
    ],
)
def test_unwritable_output_is_reported_in_a_sentence(arguments, output, words):
    line = [sys.executable, "-m", "dualgap.experiments.cli", *arguments]
    read, written = os.pipe()
    os.close(read)
    if output:
        written = os.open(output, os.O_WRONLY)
    completed = subprocess.run(line, stdout=written, stderr=subprocess.PIPE, text=True, check=False)
    os.close(written)
    assert completed.returncode == 1
    assert completed.stderr == f"Cannot write the output: {words}.\n"


@pytest.mark.usefixtures("in_process")
def test_the_exit_code_reports_bad_rows(command, write, strange):
    claims = strange("yield FormPoint(x, claim='optimal')")
    # the first is inaccurate, but it says nothing else
    for solver, code in (("{name: smo, max_iter: 1}", 0), (repr(claims), 1)):
        command("run", write(posing(solvers=[solver])), "--out", f"ends with {code}", code=code)


def test_bad_input_exits_with_2_and_without_a_traceback(command, write, tmp_path):
    bad = write("name: x\nproblems: []\nsolvers: [smo]\n", "bad.yaml")
    for arguments in (["run", bad], ["run", "nothing"], ["run", tmp_path], ["plot", "nowhere"]):
        result = command(*arguments, code=2)
        assert "Traceback" not in result.output
    assert f"{bad}:2: problems: " in command("run", bad, code=2).output
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("arguments", [("plot",), ("report",), ("table",), ("compare", ".")])
def test_a_folder_without_results_is_refused(command, tmp_path, arguments):
    result = command(*arguments, tmp_path, code=2)
    assert "holds no results" in result.output


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("solvers", "smo"),
        ("problems", "svr_primal"),
        ("datasets", "breast_cancer"),
        ("kernels", "rbf"),
        ("experiments", "quickstart"),
        ("columns", "relative_gap"),
    ],
)
def test_list_prints_the_names_used_in_experiments(command, kind, name):
    result = command("list", kind)
    assert name in result.output


@pytest.mark.parametrize(("columns", "widest"), [("70", 70), ("", 100)])
def test_piped_output_respects_COLUMNS(command, monkeypatch, columns, widest):
    monkeypatch.setenv("COLUMNS", columns)
    assert max(map(len, command("list", "columns").output.splitlines())) == widest


def test_doctor_solves_a_problem(command):
    result = command("doctor")
    assert "≤ optimum ≤" in result.output


def test_doctor_names_the_extra_that_brings_a_package(command, monkeypatch):
    def version(name):
        if name in ("clarabel", "snapml"):
            raise PackageNotFoundError(name)
        return "1.0"

    monkeypatch.setattr("dualgap.experiments.commands.doctor.version", version)
    printed = " ".join(command("doctor").output.split())
    for name, extra in (("clarabel", "qp"), ("snapml", "peers")):
        absent = rf"{name} not installed \(optional, extra {extra}: \S+ -m pip install {name}\)"
        assert re.search(absent, printed)


def test_version(command):
    assert command("--version").output.startswith("dualgap, version ")


@pytest.mark.parametrize(
    ("sent", "code"),
    [pytest.param(signal.SIGINT, 130, marks=pytest.mark.exhaustive), (signal.SIGKILL, -9)],
)
def test_a_terminated_run_keeps_its_records_and_leaves_no_process(
    write, tmp_path, strange, sent, code
):
    solvers, out = ["smo", f"'{strange('time.sleep(600); yield')}'"], tmp_path / "out"
    path = write(posing(solvers=solvers))
    arguments = [sys.executable, "-m", "dualgap.experiments.cli", "run", path, "--out", out]
    arguments += ["--workers", "2"]
    with subprocess.Popen(arguments, stderr=subprocess.PIPE, text=True) as process:
        wait_for(lambda: any(log.stat().st_size for log in out.glob("sessions/*/runs.jsonl")))
        workers = psutil.Process(process.pid).children(recursive=True)
        os.kill(process.pid, sent)
        _, printed = process.communicate(timeout=30)
    assert process.returncode == code, printed
    assert "Traceback" not in printed
    assert len(load_results(out)) == 1
    if sent == signal.SIGINT:
        assert "--resume" in printed
        assert (out / "runs.parquet").exists()
    wait_for(lambda: not any(worker.is_running() for worker in workers))


def test_a_run_prints_ascii_in_an_ascii_terminal(finished, tmp_path):
    words = ["run", str(finished()), "--out", str(tmp_path / "x"), "--resume"]
    ascii_result = CliRunner(charset="ascii").invoke(main, words)
    assert ascii_result.exit_code == 0
    assert ascii_result.output.isascii()


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("shell", "variables"),
    [
        pytest.param("exec >&-", {}, id="no output"),
        pytest.param("exec >&- 2>&-", {}, id="no output at all"),
        pytest.param(":", {"PYTHONIOENCODING": "ascii"}, id="an output of ASCII"),
    ],
)
def test_a_run_completes_with_closed_output(command, tmp_path, finished, shell, variables):
    finished()
    (tmp_path / "x/summary.md").unlink()
    line = f'{shell}; "{sys.executable}" -m dualgap.experiments.cli run small.yaml --out x --resume'
    completed = subprocess.run(
        ["/bin/sh", "-c", line], capture_output=True, check=False, env=os.environ | variables
    )
    assert completed.returncode == 0, completed.stderr
    assert b"Traceback" not in completed.stderr
    assert (tmp_path / "x/summary.md").is_file()


def test_a_removed_working_directory_is_reported_in_one_line(tmp_path, write):
    (tmp_path / "gone").mkdir()
    line = f'cd "{tmp_path}/gone"; rmdir "{tmp_path}/gone"; exec "$0" "$@"'
    completed = subprocess.run(
        [
            "/bin/sh",
            "-c",
            line,
            sys.executable,
            "-m",
            "dualgap.experiments.cli",
            "run",
            str(write()),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert completed.returncode == 2
    assert completed.stderr.strip() == "The current folder has been removed. Change to another one."


@pytest.mark.usefixtures("in_process")
def test_two_experiments_of_one_name_are_refused_before_any_is_run(command, tmp_path):
    (tmp_path / "d").mkdir()
    for name in ("a", "b"):
        (tmp_path / "d" / f"{name}.yaml").write_text(posing())
    assert "are named 'small'" in command("run", "d", "--out", "o", code=2).output
    assert not (tmp_path / "o").exists()


INTERRUPTED = """
import os, signal, sys
from dualgap.experiments.cli import Commands

main = Commands("main")

@main.command()
def run():
    try:
        os.kill(os.getpid(), signal.SIGINT)
    finally:
        for _ in range({more}):
            os.kill(os.getpid(), signal.SIGINT)

sys.argv = ["main", "run"]
main()
"""


@pytest.mark.parametrize("more", quick_cases([0, 1, 2, 5], [0, 2]))
def test_a_command_that_is_interrupted_several_times_ends_without_a_traceback(more):
    command = [sys.executable, "-c", INTERRUPTED.format(more=more)]
    finished_process = subprocess.run(command, capture_output=True, text=True, check=False)
    assert finished_process.returncode == 130
    assert "Traceback" not in finished_process.stderr
    assert ("Interrupt it again" in finished_process.stderr) == (more > 0)
