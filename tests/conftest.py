"""What the tests share: compiled programs, the order of files, 64-bit mode where asked for."""

import gc
import os
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest

import processes
from browser import find_chromium
from cost import Costs

processes.use_one_blas_thread()
processes.compile_plainly()
processes.share_compiled_programs(Path(__file__).parents[1] / ".cache" / "jax")

import jax  # noqa: E402

# Nothing that tests write has to outlast a loss of power, and waiting for the disk takes a while.
os.fsync = lambda file: None

# The same cases every time: a test that fails must fail again.
hypothesis.settings.register_profile("refti", derandomize=True)
hypothesis.settings.load_profile("refti")

PEAKS = pytest.StashKey[dict[str, float]]()
RAN_IN = pytest.StashKey[dict[str, set[str]]]()
NOT_RUN = pytest.StashKey[set[str]]()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """The dearest files come first; without Chromium the tests that need it are left out."""
    items.sort(key=processes.turn)
    for_browser = [item for item in items if item.get_closest_marker("browser")]
    if for_browser and find_chromium() is None and not os.environ.get("REFTI_BROWSER"):
        config.stash[NOT_RUN].add("browser")
        config.hook.pytest_deselected(items=for_browser)
        items[:] = [item for item in items if item not in for_browser]


def pytest_collection_finish() -> None:
    """What was imported stays: looking through it again and again for garbage takes a while.

    So does looking after every 700 new objects, of which JAX makes millions in tracing; half a
    million are 50 MB. docs/_extensions/seldom_garbage.py does the same for the pages.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(500_000, 10, 10)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """The tests of a file run in one process, where what they share is compiled once."""
    return processes.scheduler(config, log)


@pytest.hookimpl(optionalhook=True)
def pytest_runtest_logreport(report: Any) -> None:
    """Notes the process that a group of tests ran in."""
    if hasattr(report, "node"):
        ran_in = report.node.config.stash[RAN_IN]
        ran_in.setdefault(processes.group(report.nodeid), set()).add(report.node.gateway.id)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, Any, Any]:
    """In continuous integration a missing optional package is a failure."""
    report = yield
    processes.fail_if_skipped_in_ci(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, Any, Any]:
    """The same where a whole file would be skipped."""
    report = yield
    processes.fail_if_skipped_in_ci(report)
    return report


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """After the last test of a file, what it compiled is let go."""
    if nextitem is None or nextitem.path != item.path:
        processes.release_memory()


def pytest_configure(config: pytest.Config) -> None:
    """Makes room for what is told of the processes that run tests."""
    config.stash[PEAKS] = {}
    config.stash[RAN_IN] = {}
    config.stash[NOT_RUN] = set()
    config.pluginmanager.register(Costs(), "costs")


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Notes what a process of pytest-xdist told when it ended."""
    told = getattr(node, "workeroutput", {})
    node.config.stash[NOT_RUN].update(told.get("not_run", ()))
    if "peak" in told:
        node.config.stash[PEAKS][node.gateway.id] = told["peak"]


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Tells the memory of this process, and fails the run if one has grown too large."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["peak"] = processes.peak_megabytes()
        session.config.workeroutput["not_run"] = sorted(session.config.stash[NOT_RUN])
        return
    peaks = session.config.stash[PEAKS]
    if not peaks:
        peaks["this process"] = processes.peak_megabytes()
    if max(peaks.values()) > processes.MOST_MEGABYTES or _scattered(session.config):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Prints the memory of every process."""
    for name, peak in config.stash[PEAKS].items():
        too_much = f" (more than {processes.MOST_MEGABYTES:,})"
        terminalreporter.line(
            f"peak memory of {name}: {peak:,.0f} MB"
            + (too_much if peak > processes.MOST_MEGABYTES else "")
        )

    if config.stash[NOT_RUN]:
        terminalreporter.line(
            "NOT RUN: the tests of reports in a browser, as Chromium is not installed; "
            "make browser installs it and runs them"
        )
    for group in _scattered(config):
        terminalreporter.line(f"{group} ran in more than one process, and compiled twice")


def _scattered(config: pytest.Config) -> list[str]:
    """The groups of tests that ran in more than one process."""
    return [group for group, ran_in in config.stash[RAN_IN].items() if len(ran_in) > 1]


@pytest.fixture
def x64() -> Iterator[None]:
    """64-bit mode, as the library has it within its own calls, for the length of one test."""
    with jax.enable_x64(True):
        yield


@pytest.fixture(autouse=True)
def _settings_of_jax_are_left_as_they_were() -> Iterator[None]:
    yield
    left_on = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", False)
    assert not left_on, "64-bit mode was turned on for everyone"
