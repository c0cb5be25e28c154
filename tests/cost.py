"""What tests cost, in seconds of processors, told at the end of a run: the dearest are to be seen.

Seconds on the clock say little on a machine with other work. A fixture that several tests share is
charged to the first of them. No test fails for what it costs.
"""

from __future__ import annotations

import resource
from collections import Counter
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

SHOWN_FILES, SHOWN_TESTS = 15, 15
EVERY_TEST = Path(__file__).parents[1] / ".cache" / "costs.txt"  # those not shown too


def processor_seconds() -> float:
    """What this process has used so far, with the processes that it began and that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


class Costs:
    """A plugin of pytest: each process charges its tests, and the one that prints adds up."""

    def __init__(self) -> None:
        self.before = 0.0
        self.of_tests: Counter[str] = Counter()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logstart(self) -> None:
        """A test begins."""
        self.before = processor_seconds()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Generator[None, Any, Any]:
        """Setup, the test or teardown has ended; its report travels to the one that prints."""
        report = yield
        now = processor_seconds()
        report.processor_seconds, self.before = now - self.before, now
        return report

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Adds up, where reports arrive."""
        self.of_tests[report.nodeid] += getattr(report, "processor_seconds", 0.0)

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Prints the sum, the dearest files and the dearest tests."""
        of_files: Counter[str] = Counter()
        for test, seconds in self.of_tests.items():
            of_files[test.split("::")[0]] += seconds
        if of_files.total() < 60:
            return
        EVERY_TEST.parent.mkdir(exist_ok=True)
        rows = (f"{seconds:.2f} {name}\n" for name, seconds in self.of_tests.most_common())
        EVERY_TEST.write_text("".join(rows), encoding="utf-8")
        terminalreporter.section(f"{of_files.total():,.0f} seconds of processors, the dearest")
        for name, seconds in of_files.most_common(SHOWN_FILES):
            terminalreporter.line(f"{seconds:6.1f} {name}")
        terminalreporter.line("")
        for name, seconds in self.of_tests.most_common(SHOWN_TESTS):
            terminalreporter.line(f"{seconds:6.1f} {name}")
