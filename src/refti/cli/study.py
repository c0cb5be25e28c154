"""The verbs of studies: `refti plan`, `script`, and the part of `run` that is theirs."""

from __future__ import annotations

import sys
import threading
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from refti.cli.exit_codes import BAD_INPUT, STOPPED_EARLY, TRUSTED, verdict
from refti.cli.printing import print_comparison, print_json, print_notes, say
from refti.cli.stopping import STOPPING
from refti.errors import SettingsError
from refti.progress import terminal_width

if TYPE_CHECKING:
    from refti.study.running import StudyResult

# Options of `refti run` that say how a study is run; what is run stands in its file.
OF_STUDIES = {"targets", "executor", "workers", "progress", "as_json", "quiet"}


def parse_executor(context: Any, option: Any, value: str | None) -> str | int | None:
    """A number of processes, or a name or an address."""
    del context, option
    return int(value) if value is not None and value.isdecimal() else value


def executor_options(command: Any) -> Any:
    """The options that say where models run."""
    for option in (
        click.option(
            "--workers",
            type=click.IntRange(min=1),
            help="Number of processes; one per core if not given.",
        ),
        click.option(
            "--executor",
            callback=parse_executor,
            metavar="loky|dask|ADDRESS|none",
            help="Where the models of a study run: processes of this machine, a Dask cluster of "
            "this machine or at an address, or this process.",
        ),
    ):
        command = option(command)
    return command


progress_option = click.option(
    "--progress",
    type=click.Choice(["auto", "rich", "plain", "json"]),
    help="How the progress of a study is shown.",
)


def run_study_file(
    targets: tuple[str, ...],
    *,
    executor: str | int | None,
    workers: int | None,
    progress: str | None,
    as_json: bool,
    quiet: bool,
) -> int:
    """Runs a study and prints what came of it; returns the exit code."""
    import refti

    _require_alone(targets)
    STOPPING.forced = partial(_tell_stopped, targets[0], as_json=as_json)
    try:
        done = refti.run_study(
            targets[0],
            executor=_meant(executor, "loky"),
            workers=workers,
            progress=None if quiet else progress or "auto",  # type: ignore[arg-type]
        )
    except KeyboardInterrupt:
        if not STOPPING.claim_last_word():
            threading.Event().wait()  # the main thread has lost patience, and is telling it now
        return _tell_stopped(targets[0], as_json=as_json)
    if as_json:
        print_json(_record(done))
    else:
        _print_study(done)
    return BAD_INPUT if done.failed else verdict(done.trusted)


def _require_alone(targets: tuple[str, ...]) -> None:
    """Raises SettingsError if a study stands beside other targets, or options that it has."""
    if len(targets) > 1:
        raise SettingsError(f"A study.toml must be the only target; got {len(targets)} targets.")
    context = click.get_current_context()
    given = click.core.ParameterSource.COMMANDLINE
    others = [
        name
        for name in context.params
        if name not in OF_STUDIES and context.get_parameter_source(name) is given
    ]
    if others:
        raise SettingsError(
            f"--{others[0].replace('_', '-')} belongs in the study's file, under [settings] or "
            "[outputs], and not on the command line."
        )


def _meant(executor: str | int | None, usual: str | None) -> str | int | None:
    return None if executor == "none" else usual if executor is None else executor


def _tell_stopped(path: str, *, as_json: bool) -> int:
    """Tells how far a study is that was stopped; returns the exit code."""
    from refti.study.folder import open_study, receipt_of

    study = open_study(path)
    finished = [s["name"] for s in study.models if receipt_of(s, study.store) is not None]
    message = (
        f"Stopped. Finished models: {len(finished)} of {len(study.models)}. The same command goes "
        f"on from what is kept in {study.store}."
    )
    say(f"refti: {message}")
    if as_json:
        error = {"kind": "Interrupted", "message": message, "finished": finished}
        print_json({"error": error, "exit_code": STOPPED_EARLY})
    return STOPPED_EARLY


def _record(done: StudyResult) -> dict[str, Any]:
    return {
        "store": str(done.store),
        "report": None if done.report is None else str(done.report),
        "models": {name: dict(receipt) for name, receipt in done.receipts.items()},
        "failed": dict(done.failed),
        "comparisons": [table.to_dict() for table in done.comparisons],
        "spread": {
            "running_seconds": done.spread.running,
            "share_outside": done.spread.share_outside,
            "lost": done.spread.lost,
            "megabytes": done.spread.megabytes,
        },
    }


def _print_study(done: StudyResult) -> None:
    from refti.results.text import printable

    for table in done.comparisons:
        print_comparison(table, terminal_width(sys.stdout))
        print_notes({row.name: done.results[row.name] for row in table.rows})
        click.echo()
    for name, reason in done.failed.items():
        say(f"{printable(name)}: {reason}")
    say(f"Kept in {done.store}.")
    if done.report is not None and done.receipts:
        say(f"Report: {done.report}")


@click.command()
@click.argument("study", type=click.Path(path_type=Path, exists=True))
@executor_options
@click.option("--json", "as_json", is_flag=True, help="Print the plan as JSON.")
def plan(study: Path, executor: str | int | None, workers: int | None, as_json: bool) -> int:
    """Print the models of a study.toml and what they may cost, without running them.

    Models are loaded and Stan programs compiled, but nothing is sampled.

    \b
    Example:
      refti plan study.toml --workers 4
    """
    from dataclasses import asdict

    from refti.executors.cores import cores
    from refti.study.planning import plan_study, plan_text

    planned = plan_study(study, executor=_meant(executor, None), workers=workers)
    if as_json:
        print_json({"models": [asdict(model) for model in planned]})
    else:
        click.echo(plan_text(planned, workers or cores(), terminal_width(sys.stdout)))
    return BAD_INPUT if any(model.fault for model in planned) else TRUSTED


@click.command()
@click.argument("run", metavar="RUN", type=click.Path(path_type=Path, exists=True))
@click.option("--slurm", is_flag=True, help="Write a job array for SLURM, the only kind so far.")
@click.option(
    "--shards",
    type=click.IntRange(min=1),
    help="Number of jobs; if not given, one per model, at most 100.",
)
@click.option(
    "--cores", type=click.IntRange(min=1), default=1, show_default=True, help="Cores per job."
)
@click.option("--memory", default="4G", show_default=True, help="Memory per job.")
@click.option("--time", default="12:00:00", show_default=True, help="Time limit per job.")
@click.option("--json", "as_json", is_flag=True, help="Print the script as JSON.")
def script(
    run: Path,
    slurm: bool,
    shards: int | None,
    cores: int,
    memory: str,
    time: str,
    as_json: bool,
) -> int:
    """Print a job array that works on a study's folder (or study.toml).

    \b
    Example:
      refti script study.toml --slurm --shards 16 > job.sh
    """
    from refti.study.folder import open_study
    from refti.study.slurm import job_array

    if not slurm:
        raise SettingsError("Name the batch system: --slurm is the only one so far.")
    study = open_study(run)
    jobs = shards or min(100, len(study.models))
    text = job_array(study.store, shards=jobs, cores=cores, memory=memory, time=time)
    if as_json:
        print_json({"script": text})
    else:
        click.echo(text, nl=False)
    return TRUSTED
