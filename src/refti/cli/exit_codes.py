"""Exit codes: what a command tells the shell."""

from __future__ import annotations

TRUSTED = PASSED = 0
NOT_TRUSTED = NOT_PASSED = 1
BAD_INPUT = 2
STOPPED_EARLY = 3  # by a budget or a signal

IN_WORDS = "0 trusted, 1 finished but not trusted, 2 bad input, 3 stopped early"


def verdict(trusted: bool) -> int:
    """The code of a command that came to its end."""
    return TRUSTED if trusted else NOT_TRUSTED
