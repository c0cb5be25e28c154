"""Table: the whole suite run once, one line a target."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from refti.calibrate.answer_first import answer_first
from refti.calibrate.runs import Job, Run
from refti.calibrate.tuning import TUNING
from refti.suite import Target


@dataclass(frozen=True)
class Summary:
    """How the suite came out; `wrong` were trusted and more than 3.5 errors from the truth."""

    targets: int
    trusted: int
    wrong: tuple[str, ...]
    unimodal: int
    unimodal_trusted: int

    @property
    def passes(self) -> bool:
        """Whether no target was trusted and wrong."""
        return not self.wrong


def jobs(targets: Sequence[Target], seed: int, settings: dict[str, object]) -> list[Job]:
    """One run of each target."""
    return [Job("suite", target.name, seed, settings=settings) for target in targets]


def summary(runs: Sequence[Run]) -> Summary:
    """The summary of finished runs."""
    unimodal = [run for run in runs if run.modes == 1]
    return Summary(
        targets=len(runs),
        trusted=sum(run.trusted for run in runs),
        wrong=tuple(
            run.name for run in runs if run.trusted and not abs(run.z) <= TUNING.wrong_errors
        ),
        unimodal=len(unimodal),
        unimodal_trusted=sum(run.trusted for run in unimodal),
    )


def text(runs: Sequence[Run], width: int) -> str:
    """The summary in words, then a row a run, of the columns that have room in so many letters."""
    found = summary(runs)
    share = 100 * found.unimodal_trusted / max(found.unimodal, 1)
    named = f" ({', '.join(found.wrong)})" if found.wrong else ""
    answer = (
        f"Trusted: {found.trusted} of {found.targets}. Trusted and wrong "
        f"(|z| > {TUNING.wrong_errors}): {len(found.wrong)}{named}. Of the unimodal "
        f"{found.unimodal_trusted} of {found.unimodal} are trusted ({share:.0f} %)."
    )
    narrow = width < WIDE
    rows = [_fitted(_row(run, narrow=narrow), width) for run in runs]
    return answer_first(answer, [_head(narrow=narrow), *rows])


def _head(*, narrow: bool) -> str:
    if narrow:
        return f"{'target':24s} {'exact':>12s} {'log z':>12s} {'error':>8s} {'z':>7s}  trusted"
    return (
        f"{'target':24s} {'dim':>4s} {'exact':>14s} {'log z':>14s} {'error':>8s} {'z':>7s} "
        f"{'rungs':>5s} {'reference':14s} {'gradients':>10s} {'seconds':>8s}  trusted"
    )


def _row(run: Run, *, narrow: bool) -> str:
    """What a narrow row leaves out is in the JSON."""
    start = f"{run.name:24s} " + ("" if narrow else f"{run.dim:4d} ")
    truth = f"{run.truth:12.4f}" if narrow else f"{run.truth:14.4f}"
    if run.message is not None:
        return f"{start}{truth} refused: {run.message.splitlines()[0]}"
    if narrow:
        verdict = "yes" if run.trusted else "no"
        return f"{start}{truth} {run.log_z:12.4f} {run.error:8.4f} {run.z:+7.2f}  {verdict}"
    verdict = "yes" if run.trusted else f"no: {', '.join(run.failed)}"
    return (
        f"{start}{truth} {run.log_z:14.4f} {run.error:8.4f} {run.z:+7.2f} {run.rungs:5d} "
        f"{run.reference:14s} {run.gradients:10d} {run.seconds:8.1f}  {verdict}"
    )


def _fitted(row: str, width: int) -> str:
    return row if len(row) <= width else row[: width - 1] + "…"


WIDE = 127  # letters of a row with all columns
