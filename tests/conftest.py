"""What the tests share: compiled programs, the order of files, 64-bit mode where asked for."""

from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest

import processes

processes.use_one_blas_thread()
processes.share_compiled_programs(Path(__file__).parents[1] / ".cache" / "jax")

import jax  # noqa: E402

PEAKS = pytest.StashKey[dict[str, float]]()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The tests of a file run in one process, where what they compile is compiled once."""
    for item in items:
        if item.get_closest_marker("xdist_group") is None:
            # Of the same name in two folders are two files.
            name = f"{item.path.parent.name}/{item.path.stem}"
            item.add_marker(pytest.mark.xdist_group(name))
    items.sort(key=processes.turn)


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
    """Makes room for the memory of every process that runs tests."""
    config.stash[PEAKS] = {}


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Notes what a process of pytest-xdist told when it ended."""
    told = getattr(node, "workeroutput", {})
    if "peak" in told:
        node.config.stash[PEAKS][node.gateway.id] = told["peak"]


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Tells the memory of this process, and fails the run if one has grown too large."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["peak"] = processes.peak_megabytes()
        return
    peaks = session.config.stash[PEAKS]
    if not peaks:
        peaks["this process"] = processes.peak_megabytes()
    if max(peaks.values()) > processes.MOST_MEGABYTES:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Prints the memory of every process."""
    for name, peak in config.stash[PEAKS].items():
        too_much = f" (more than {processes.MOST_MEGABYTES:,})"
        terminalreporter.line(
            f"peak memory of {name}: {peak:,.0f} MB"
            + (too_much if peak > processes.MOST_MEGABYTES else "")
        )


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
