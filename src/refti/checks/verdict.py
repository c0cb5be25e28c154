"""The verdict of the checks in a word: that a number may be wrong is not that it is imprecise."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from math import isfinite

from refti.checks.check import CUT_SHORT, Check

PRECISION = "target error"
END = "finished"


class Verdict(Enum):
    """What is to be thought of a result; its value is the word for it."""

    TRUSTED = "trusted"
    IMPRECISE = "less precise than asked"  # the number and its error are right
    STOPPED_EARLY = "stopped early"  # all that was checked holds, but not all was
    NOT_TRUSTED = "not trusted"  # the number may be wrong

    @property
    def shown(self) -> str:
        """The word as it is printed: what asks for attention in capitals."""
        return self.value if self is Verdict.TRUSTED else self.value.upper()

    @property
    def cell(self) -> str:
        """An answer to "trusted?" that is short enough for a table."""
        return _CELLS[self]


_CELLS = {
    Verdict.TRUSTED: "yes",
    Verdict.IMPRECISE: "imprecise",
    Verdict.STOPPED_EARLY: "stopped",
    Verdict.NOT_TRUSTED: "NO",
}


def verdict_of(checks: Iterable[Check]) -> Verdict:
    """The verdict of checks: the worst that those that failed say."""
    checks = list(checks)
    failed = {check.name for check in checks if not check.ok}
    # An error that is not finite says nothing of the number, which may be anything.
    has_error = all(isfinite(check.value) for check in checks if check.name == PRECISION)
    if END in failed:  # what the end cut short was not found wrong: it was not looked at
        failed -= {check.name for check in checks if check.advice.startswith(CUT_SHORT)}
    if failed - {PRECISION, END} or not has_error:
        return Verdict.NOT_TRUSTED
    if END in failed:
        return Verdict.STOPPED_EARLY
    return Verdict.IMPRECISE if failed else Verdict.TRUSTED
