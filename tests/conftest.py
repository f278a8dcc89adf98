"""The options of the tests; random tests draw the same cases on every run."""

import gc
import os
import re
import signal
from collections.abc import Callable, Generator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import is_hypothesis_test, settings

gc.disable()  # until all is imported and collected, of which nothing is garbage
for name, examples in (("fast", 12), ("exhaustive", 300)):
    settings.register_profile(
        name, max_examples=examples, derandomize=True, deadline=None, database=None
    )
# Read when libraries are loaded. Threads of several test processes on the same cores wait for each
# other.
for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(name, "1")
# The defaults of whoever runs the tests are not those of the tests.
_CONFIGURATIONS = TemporaryDirectory()
os.environ["XDG_CONFIG_HOME"] = _CONFIGURATIONS.name
ALLOWED = Path(__file__).with_name("allowed_skips.txt")


def pytest_addoption(parser: pytest.Parser) -> None:
    option = "also run long tests, and more cases of tests that draw them at random"
    parser.addoption("--exhaustive", action="store_true", help=option)
    strict = f"fail skipped tests, except for the reasons in {ALLOWED.name}"
    parser.addoption("--strict-skips", action="store_true", help=strict)
    record = "write the texts that `recorded_text` compares, instead of comparing them"
    parser.addoption("--record", action="store_true", help=record)


def pytest_configure(config: pytest.Config) -> None:
    settings.load_profile("exhaustive" if config.getoption("exhaustive") else "fast")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the tests marked `exhaustive`, or the others; none of those named one by one."""
    marked = [item for item in items if item.get_closest_marker("exhaustive")]
    for item in marked:
        item.add_marker(pytest.mark.timeout(600))
    if any("::" in name for name in config.args):
        return
    left_out = marked
    if config.getoption("exhaustive"):
        left_out = [
            item for item in items if item not in marked and not is_hypothesis_test(item.obj)
        ]
    config.hook.pytest_deselected(items=left_out)
    left_out = set(left_out)
    items[:] = [item for item in items if item not in left_out]


def pytest_collection_finish() -> None:
    """Exempt modules and tests from garbage collection, which would visit them again and again."""
    gc.freeze()
    gc.set_threshold(10_000, 10, 20)  # more often it is 7 % of the time
    gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    return _strict(item.config, report)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    return _strict(collector.config, report)


def _strict(config: pytest.Config, report):
    """Return the report, a failure if it is of a skip for a reason that is not allowed."""
    if config.getoption("strict_skips") and report.skipped and isinstance(report.longrepr, tuple):
        allowed = [line for line in ALLOWED.read_text().splitlines() if not line.startswith("#")]
        reason = report.longrepr[2]
        if not any(re.search(pattern, reason) for pattern in allowed):
            report.outcome = "failed"
            report.longrepr = f"{reason}: {ALLOWED.name} does not have this reason to skip a test"
    return report


@pytest.fixture
def recorded_text(request: pytest.FixtureRequest) -> Callable[[Path, str], None]:
    """Compare a text with the one that is recorded in a file; with `--record` write that file."""

    def _compare(file: Path, text: str) -> None:
        if request.config.getoption("record"):
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        assert text == file.read_text(encoding="utf-8")

    return _compare


@pytest.fixture(autouse=True, scope="session")
def _handle_ctrl_c() -> None:
    """Let commands that tests start be interrupted: in the background of a shell Ctrl-C is ignored."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
