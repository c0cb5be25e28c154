"""The verbs of `refti calibrate`: one study each, resumable, with an exit code for its verdict."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import asdict
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from refti.cli.exit_codes import verdict
from refti.cli.printing import print_json
from refti.cli.study_options import common_options
from refti.progress import Display, terminal_width

if TYPE_CHECKING:
    from refti.calibrate.runs import Job, Run
    from refti.suite import Target


@click.group(short_help="Test on many runs whether errors and verdicts are right.")
def calibrate() -> None:
    """Test on many runs whether errors and verdicts are right.

    With --output, each finished run is kept in a file of JSON lines, and a study that was
    interrupted continues where it stopped. Exit codes: 0 passed, 1 not passed, 2 bad input,
    3 stopped early.

    \b
    Examples:
      refti calibrate suite --quick
      refti calibrate coverage -o runs/calibration
    """


_targets = click.option(
    "--targets", multiple=True, metavar="NAME,...", help="Targets of the suite by name."
)
_hard = click.option("--hard", is_flag=True, help="Only the hard targets.")


@calibrate.command()
@_targets
@_hard
@click.option("--easy", is_flag=True, help="Only the others.")
@click.option("--seed", type=int, default=0, show_default=True, help="The first seed.")
@click.option(
    "--seeds",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Seeds per target; with two or more, the table has one row per target, not per run.",
)
@common_options
def suite(
    targets: tuple[str, ...],
    hard: bool,
    easy: bool,
    seed: int,
    seeds: int,
    workers: int,
    output: Path | None,
    settings: dict[str, Any],
    quick: bool,
    as_json: bool,
    quiet: bool,
) -> int:
    """Run every target of the suite; --quick leaves out those beyond 20 dimensions.

    \b
    Examples:
      refti calibrate suite
      refti calibrate suite --hard --seeds 20 -o runs/suite
      refti calibrate suite --targets ring,funnel --setting target_error=0.01
    """
    from refti.calibrate import seeds as study
    from refti.calibrate import table

    chosen = _choose_targets(targets, hard=hard, easy=easy, quick=quick)
    if seeds > 1:
        jobs = study.jobs(chosen, seed, seeds, settings)
        runs = _run_study("suite", jobs, workers, output, quiet)
        counts = study.count(runs)
        record = {"targets": [asdict(row) for row in counts]}
        return _print_findings(record, study.text(counts), study.passes(counts), as_json)

    runs = _run_study("suite", table.jobs(chosen, seed, settings), workers, output, quiet)
    found = table.summary(runs)
    record = {**asdict(found), "runs": [run.to_dict() for run in runs]}
    words = table.text(runs, terminal_width(sys.stdout))
    return _print_findings(record, words, found.passes, as_json)


@calibrate.command()
@_targets
@_hard
@click.option(
    "--seeds",
    type=click.IntRange(min=2),
    show_default="200, or 100 with --hard",
    default=None,
    help="Seeds per target.",
)
@common_options
def coverage(
    targets: tuple[str, ...],
    hard: bool,
    seeds: int | None,
    workers: int,
    output: Path | None,
    settings: dict[str, Any],
    quick: bool,
    as_json: bool,
    quiet: bool,
) -> int:
    """Repeat targets under many seeds; --quick takes 10 of the seeds.

    --hard takes eight hard targets, and judges targets by the variance and the mean of z.

    \b
    Examples:
      refti calibrate coverage -o runs/calibration
      refti calibrate coverage --hard --seeds 50
    """
    from refti.calibrate import coverage as study

    usual = study.HARD_TARGETS if hard else study.TARGETS
    names = [target.name for target in _find_targets(targets)] or list(usual)
    seeds = seeds or (100 if hard else 200)
    jobs = study.jobs(names, min(seeds, 10) if quick else seeds, settings)
    runs = _run_study("coverage", jobs, workers, output, quiet)
    rows = study.coverage(runs, hard=hard)
    passed = all(row.passes for row in rows)
    record = {
        "targets": [
            {**asdict(row), "passes": row.passes, "untrusted_share": row.untrusted_share}
            for row in rows
        ]
    }
    return _print_findings(record, study.text(rows), passed, as_json)


@calibrate.command()
@click.option(
    "--data-sets",
    type=click.IntRange(min=2),
    default=500,
    show_default=True,
    help="Number of simulated data sets.",
)
@common_options
def choice(
    data_sets: int,
    workers: int,
    output: Path | None,
    settings: dict[str, Any],
    quick: bool,
    as_json: bool,
    quiet: bool,
) -> int:
    """Test model probabilities on simulated data sets; --quick takes 150 of them.

    \b
    Example:
      refti calibrate choice --data-sets 200 -o runs/choice
    """
    from refti.calibrate import choice as study

    jobs = study.jobs(min(data_sets, 150) if quick else data_sets, settings)
    runs = _run_study("choice", jobs, workers, output, quiet, build=study.target)
    found = study.study(runs)
    record = asdict(found)
    for name, one in found.verdicts.items():
        record["verdicts"][name] |= {"passes": one.passes, "critical": one.critical}
    return _print_findings(record, study.text(found), found.passes, as_json)


@calibrate.command()
@click.option(
    "--seeds", type=click.IntRange(min=1), default=50, show_default=True, help="Seeds per mixture."
)
@common_options
def modes(
    seeds: int,
    workers: int,
    output: Path | None,
    settings: dict[str, Any],
    quick: bool,
    as_json: bool,
    quiet: bool,
) -> int:
    """Repeat mixtures of two separated modes; --quick takes 3 of the seeds.

    \b
    Example:
      refti calibrate modes --quick
    """
    from refti.calibrate import modes as study

    jobs = study.jobs(min(seeds, 3) if quick else seeds, settings)
    counts = study.count(_run_study("modes", jobs, workers, output, quiet))
    record = {"mixtures": [asdict(row) for row in counts]}
    return _print_findings(record, study.text(counts), study.passes(counts), as_json)


@calibrate.command()
@click.option(
    "--seeds", type=click.IntRange(min=1), default=200, show_default=True, help="Seeds per mixture."
)
@click.option("--quick", is_flag=True, help="A small version of the study.")
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON.")
def search(seeds: int, quick: bool, as_json: bool) -> int:
    """Search for a second mode, without sampling; --quick takes 40 of the seeds and few mixtures.

    \b
    Example:
      refti calibrate search --quick --json
    """
    from refti.calibrate import search_power as study

    rows = study.power(min(seeds, 40) if quick else seeds, quick=quick)
    record = {"mixtures": [{**asdict(row), "holds": row.holds} for row in rows]}
    return _print_findings(record, study.text(rows), study.passes(rows), as_json)


@calibrate.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True))
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON.")
def checks(files: tuple[Path, ...], as_json: bool) -> int:
    """Count how often each check failed, in FILES that studies wrote to their --output.

    \b
    Example:
      refti calibrate checks runs/calibration/coverage.jsonl
    """
    from refti.calibrate import checks as study
    from refti.calibrate.replicate import read_runs

    found = study.firings([run for file in files for run in read_runs(file)])
    return _print_findings(asdict(found), study.text(found), found.passes, as_json)


def _find_targets(targets: tuple[str, ...]) -> list[Target]:
    """The targets of names that are given one by one or with commas between."""
    from refti.suite import find

    return [find(name) for item in targets for name in item.split(",") if name]


def _choose_targets(
    targets: tuple[str, ...], *, hard: bool, easy: bool, quick: bool
) -> list[Target]:
    """The targets that were named, or those of the suite that the flags leave."""
    from refti import suite

    if hard + easy + bool(targets) > 1:
        raise click.UsageError("Give one of --targets, --hard and --easy, not several.")
    if targets:
        return _find_targets(targets)
    wanted = suite.HARD if hard else suite.EASY if easy else suite.TARGETS
    return [target for target in wanted if not quick or target.dim <= 20]


def _run_study(
    study: str,
    jobs: list[Job],
    workers: int,
    output: Path | None,
    quiet: bool,
    *,
    build: Callable[[Job], Target] | None = None,
) -> list[Run]:
    """The runs of a study, kept in a file of its name."""
    import refti
    from refti.calibrate.replicate import replicate
    from refti.calibrate.runs import suite_target

    known = signature(refti.evidence).parameters
    unknown = sorted({name for job in jobs for name in job.settings} - set(known))
    if unknown:
        raise refti.SettingsError(
            f"--setting {unknown[0]} is no setting of refti.evidence; expected one of "
            f"{', '.join(known)}."
        )
    with Display(quiet=quiet) as display:

        def tell(stage: str, done: int, total: int) -> None:
            display(f"{stage}: {done} of {total} runs", 0, 1)

        tell(study, 0, len(jobs))
        return replicate(
            jobs,
            workers=min(workers, os.cpu_count() or 1),
            out=None if output is None else output / f"{study}.jsonl",
            build=build or suite_target,
            report=tell,
        )


def _print_findings(record: dict[str, Any], words: str, passed: bool, as_json: bool) -> int:
    """Prints what a study found; returns the exit code."""
    if as_json:
        print_json({**record, "passes": passed})
    else:
        click.echo(words)
    return verdict(passed)
