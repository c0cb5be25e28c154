"""Exit codes: what a command tells the shell."""

from __future__ import annotations

TRUSTED = PASSED = 0
NOT_TRUSTED = NOT_PASSED = 1
BAD_INPUT = 2
INTERRUPTED = 130  # 128 and the number of the signal, as shells have it


def verdict(trusted: bool) -> int:
    """The code of a command that came to its end."""
    return TRUSTED if trusted else NOT_TRUSTED
