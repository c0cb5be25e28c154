"""The numbers that the command line works by."""

from __future__ import annotations

from dataclasses import dataclass

from refti.tuning import tuned


@dataclass(frozen=True)
class CommandLineTuning:
    """What decides how a command ends that is told to."""

    seconds_to_conclude: float = tuned(
        15.0, "a run that has an estimate has to check it and make its result, when told to stop"
    )
    seconds_to_give_up: float = tuned(
        2.0, "a run without an estimate has nothing to save, but may be compiling for long"
    )
    one_signal: float = tuned(
        1.0, "seconds in which a second signal is the first again: `timeout` sends two"
    )
    seconds_to_tidy: float = tuned(
        1.0, "for a compilation to end, or its thread to remove its unfinished files"
    )
    stack: int = tuned(
        64 * 2**20, "bytes of a run's thread: what some systems give would end deep programs"
    )


TUNING = CommandLineTuning()
