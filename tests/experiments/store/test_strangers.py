"""Folders, archives and exported problems of others, damaged at random: refused in a sentence, or used.

No command prints a traceback, writes outside the folders that it was given, or exits with 0 where it has
judged nothing.
"""

import copy
import hashlib
import json
import shutil
from collections import Counter
from pathlib import Path
from zipfile import ZipFile

import numpy as np
import pytest
from click.testing import CliRunner
from tests.experiments.functions import log_of, posing, session_of

from dualgap.experiments.cli import main
from dualgap.experiments.operations import archive
from dualgap.experiments.store.reading import RunFolder

NUMBERS = [0, 1, -1, 5, 2**70, 0.5, -1e308, 1e9, float("nan"), float("inf")]
TEXTS = [
    "",
    "x",
    "../../victim",
    "/victim",
    "..",
    "a/../../victim",
    "*",
    "-rf",
    ".hidden",
    "\x1b[31m",
]
TEXTS += [
    "x" * 5000,
    "null",
    "{",
    "[1]",
    "1e9",
    "\x00",
    "é",
    "name: [",
    "- 1",
    "C:\\victim",
    "~/victim",
]
VALUES = [None, True, False, [], {}, [[]], [1], {"a": 1}, {"name": 3}, [None], *NUMBERS, *TEXTS]
FOLDER_COMMANDS = [
    ["report", "x"],
    ["table", "x"],
    ["compare", "x", "x"],
    ["merge", "x", "y", "--out", "z", "--force"],
    ["archive", "x", "--out", "x.zip"],
    ["run", "x", "--out", "x", "--resume"],
    ["run", "x", "--out", "x", "--force"],
    ["run", "x", "--out", "x", "--rerun", "solver:smo"],
    ["run", "x", "--resume", "--shard", "1/2"],
    ["run", "small.yaml", "--out", "x", "--resume", "--set", "C=3"],
]


def drawn(rng, choices):
    return choices[rng.integers(len(choices))]


def places_in(value, key_path=()):
    """Yield the place of every value in a JSON value, as keys and indices from the outside."""
    if key_path:
        yield key_path
    items = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value if isinstance(value, list) else [])
    )
    for key, inside in items:
        yield from places_in(inside, (*key_path, key))


def damaged(rng, content):
    """A JSON value of which one to three others inside are replaced, removed, renamed or repeated."""
    content = copy.deepcopy(content)
    for _ in range(rng.integers(1, 4)):
        places = list(places_in(content))
        # as many of each depth, since most places are deep in specifications
        depth = drawn(rng, sorted({*map(len, places)}))
        *outer, last = drawn(rng, [key_path for key_path in places if len(key_path) == depth])
        holder = content
        for key in outer:
            holder = holder[key]
        kind = rng.integers(6)
        if kind == 0:
            del holder[last]
        elif kind == 1 and isinstance(holder, dict):
            holder[drawn(rng, TEXTS)] = holder.pop(last)
        elif kind == 2 and isinstance(holder, list):
            holder.append(holder[last])
        elif kind <= 4 and isinstance(holder[last], str):
            holder[last] = drawn(rng, TEXTS)
        elif kind <= 4 and isinstance(holder[last], (int, float)):
            holder[last] = drawn(rng, NUMBERS)
        else:
            holder[last] = drawn(rng, VALUES)
        if not content:
            break
    return content


def damage_log(rng, folder):
    """Replace a line of the log of a folder by a damaged one."""
    log = log_of(folder)
    lines = [json.loads(line) for line in log.read_bytes().splitlines()]
    chosen = rng.integers(len(lines))
    part = drawn(rng, ["record", "record", None])
    lines[chosen] = (
        damaged(rng, lines[chosen])
        if part is None
        else lines[chosen] | {part: damaged(rng, lines[chosen][part])}
    )
    log.write_text("".join(json.dumps(line) + "\n" for line in lines))


def damage_json(rng, path):
    path.write_text(json.dumps(damaged(rng, json.loads(path.read_text()))))


def listing():
    """The content of all files, by their paths from the folder of the test."""
    return {path: path.read_bytes() for path in Path("..").rglob("*") if path.is_file()}


def run_command(arguments, allowed):
    """Run a command, which may change `allowed` alone; return its exit code."""
    before = listing()
    result = CliRunner().invoke(main, list(map(str, arguments)))
    if not isinstance(result.exception, SystemExit | None):
        raise result.exception
    assert result.exit_code in (0, 1, 2), result.output
    assert result.exit_code != 2 or len(result.output) < 2000, result.output
    changed = [path for path, content in listing().items() if before.get(path) != content]
    inside = [Path.cwd() / name for name in allowed]
    outside = [p for p in changed if not any(p.resolve().is_relative_to(inner) for inner in inside)]
    assert not outside, f"{arguments} wrote {outside}"
    assert all(
        path.exists()
        for path in before
        if path.resolve().is_relative_to(Path.cwd().parent / "victim")
    )
    return result.exit_code


def solved_rows(folder):
    return int((RunFolder(folder).results["verdict"] == "solved").sum())


@pytest.fixture(scope="module")
def originals(tmp_path_factory):
    """Two folders of runs, an archive of one, and exported problems with right answers."""
    home = tmp_path_factory.mktemp("originals")
    text = posing(C=[1, 2], solvers=["{name: smo, label: mine}"], kernel="{name: rbf, gamma: 0.5}")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(home)
        patch.setattr(archive, "plot_all", lambda *_: [])
        Path("small.yaml").write_text(text)
        for arguments in (
            ["run", "small.yaml", "--out", "x"],
            ["run", "small.yaml", "--out", "y", "--set", "C=5"],
            ["archive", "x"],
            ["export", "small.yaml", "--all", "given", "--format", "npz"],
        ):
            result = CliRunner().invoke(main, arguments)
            assert result.exit_code == 0, result.output
        Path("answers").mkdir()
        for i, run_id in enumerate(RunFolder("x").results["run_id"], 1):
            with np.load(session_of("x") / f"models/{run_id}.npz") as model:
                np.savez(f"answers/p00{i}.npz", alpha=model["alpha"])
    return home


@pytest.fixture
def stranger(originals, tmp_path, monkeypatch, in_process):
    """A copy of the originals for each drawn case, beside a victim's folder."""
    monkeypatch.setattr(archive, "plot_all", lambda *_: [])
    monkeypatch.setattr(archive, "distributions", list)
    (tmp_path / "victim").mkdir()
    for name in ("train.npz", "train.npy"):
        (tmp_path / "victim" / name).write_text("mine")

    def fresh_home():
        monkeypatch.chdir(tmp_path)
        shutil.rmtree(tmp_path / "home", ignore_errors=True)
        shutil.copytree(originals, tmp_path / "home")
        monkeypatch.chdir(tmp_path / "home")

    return fresh_home


def folder_case(rng):
    if rng.random() < 0.5:
        damage_json(rng, session_of("x") / "session.json")
    else:
        damage_log(rng, Path("x"))
    arguments = drawn(rng, FOLDER_COMMANDS)
    code = run_command(arguments, ["x", "z", "x.zip"])
    return arguments[0], code


def archive_case(rng):
    shutil.unpack_archive("x.zip", "unpacked")
    folder, kind = Path("unpacked"), rng.integers(4)
    if kind == 0:
        damage_json(rng, session_of(folder) / "session.json")
    elif kind == 1:
        damage_log(rng, folder)
    names = {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }
    if kind == 2:
        names[drawn(rng, TEXTS).replace("\x00", "") or "x"] = b"more"
    sums = "".join(
        f"{hashlib.sha256(c).hexdigest()}  {n}\n"
        for n, c in names.items()
        if n != archive.CHECKSUMS
    )
    if kind == 3:
        sums += f"{'0' * 64}  {drawn(rng, TEXTS)}\n"
    with ZipFile("x.zip", "w") as packed:
        for name, content in (names | {archive.CHECKSUMS: sums.encode(errors="replace")}).items():
            packed.writestr(name, content)
    return "check", run_command(["run", "x.zip", "--check", "--out", "z"], ["z"])


def index_case(rng):
    index = json.loads(Path("given/problems.json").read_text())
    if rng.random() < 0.2:
        del index["problems"]["p002"]
        Path("answers/p002.npz").unlink()
    index = damaged(rng, index)
    Path("given/problems.json").write_text(json.dumps(index))
    code = run_command(["certify", "given", "--answers", "answers", "--out", "z"], ["z"])
    if code == 0:
        assert solved_rows("z") == len(index["problems"]) > 0
        assert (RunFolder("z").results["target_gap"] < 1).all()
    return "certify", code


CASES = [folder_case, folder_case, archive_case, index_case]


@pytest.mark.parametrize(
    "seeds", [range(8), pytest.param(range(8, 512), marks=pytest.mark.exhaustive)], ids=str
)
def test_untrusted_files_are_refused_or_used_without_side_effects(stranger, seeds):
    counts = Counter()
    for seed in seeds:
        rng = np.random.default_rng(seed)
        stranger()
        try:
            counts[CASES[seed % len(CASES)](rng)] += 1
        except BaseException as error:
            raise AssertionError(f"seed {seed}") from error
    assert {code for _, code in counts} >= {0, 2}, counts
