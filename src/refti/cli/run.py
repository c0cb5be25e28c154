"""`refti run`: the evidence of one or more models, and how they compare."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from refti.cli.exit_codes import BAD_INPUT, verdict
from refti.cli.late_names import LateNames, estimators, families, kernels, paths
from refti.cli.printing import print_json, print_results
from refti.cli.study import executor_options, run_study_file
from refti.cli.targets import distinct_names, load_models, pair_with_data
from refti.errors import SettingsError

if TYPE_CHECKING:
    from refti.models.model import Model
    from refti.results.result import Evidence


def _parse_search(context: Any, option: Any, value: str) -> str | int:
    """The effort by its name, or a number of evaluations."""
    del context, option
    return int(value) if value.lstrip("+-").isdecimal() else value


@click.command()
@click.argument("targets", nargs=-1, required=True, metavar="FILE.py:MODEL|FILE.stan|STUDY.toml...")
@click.option("--data", multiple=True, help="JSON for Stan programs: one for all, or one each.")
@click.option("--prior-program", help="Stan program of the prior alone, for --path power.")
@click.option("--solver-limit", type=int, help="Right-hand sides a density of Stan may ask for.")
@click.option("--store", type=click.Path(path_type=Path), help="Directory to keep the run in.")
@click.option(
    "--reference",
    type=LateNames(families),
    default="auto",
    show_default=True,
    help="Where the path starts.",
)
@click.option(
    "--path", type=LateNames(paths), default="referenced", show_default=True, help="Its kind."
)
@click.option("--rungs", type=int, help="Number of rungs, spaced by --exponent; adapted if absent.")
@click.option("--exponent", type=float, default=1.0, help="Spacing of --rungs; 1 is uniform.")
@click.option(
    "--estimator",
    type=LateNames(estimators),
    default="mbar",
    show_default=True,
    help="What the evidence is computed with from the draws.",
)
@click.option("--target-error", type=float, default=0.05, show_default=True, help="In nats.")
@click.option("--seed", type=int, default=0, show_default=True)
@click.option("--max-seconds", type=float, help="End with what there is after this time.")
@click.option("--max-evaluations", type=int, help="End with what there is after so many.")
@click.option("--chains", type=int, help="Chains a rung.")
@click.option("--warmup", type=int, help="Iterations that adapt a chain.")
@click.option("--kept", type=int, help="Draws of each chain; as many as needed if absent.")
@click.option(
    "--prior-check/--no-prior-check",
    "check_prior",
    default=True,
    help="See that the prior integrates to one.",
)
@click.option("--witness", is_flag=True, help="Repeat the estimate along an independent way.")
@click.option(
    "--search",
    callback=_parse_search,
    default="default",
    show_default=True,
    metavar="quick|default|thorough|EVALUATIONS",
    help="How hard other modes are looked for.",
)
@click.option(
    "--draws",
    type=click.Path(path_type=Path),
    multiple=True,
    metavar="FILE",
    help="Posterior draws: .csv of CmdStan (once a chain) or .nc of ArviZ. For one model.",
)
@click.option(
    "--kernel",
    type=LateNames(kernels),
    default="hmc",
    show_default=True,
    help="How chains move.",
)
@executor_options
@click.option(
    "--progress",
    type=click.Choice(["auto", "rich", "plain", "json"]),
    help="How the progress of a study is shown.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@click.option("--quiet", is_flag=True, help="No progress.")
def run(
    targets: tuple[str, ...],
    data: tuple[str, ...],
    prior_program: str | None,
    solver_limit: int | None,
    store: Path | None,
    rungs: int | None,
    exponent: float,
    draws: tuple[Path, ...],
    executor: str | int | None,
    workers: int | None,
    progress: str | None,
    as_json: bool,
    quiet: bool,
    **settings: Any,
) -> int:
    """Estimate the evidence of one or more models, and compare them.

    A target is a Stan program, or a Python file and a name in it: a refti.Model, or a function
    without arguments that returns one. With several targets each is kept in a folder of --store
    by its name; a Stan program that is given with several data sets is named by the data.

    A study.toml names models, data and settings of its own; its models run side by side, and a
    study that was stopped goes on where it was.
    """
    if any(target.endswith(".toml") for target in targets):
        return run_study_file(
            targets,
            executor=executor,
            workers=workers,
            progress=progress,
            as_json=as_json,
            quiet=quiet,
        )
    if executor is not None or workers is not None or progress is not None:
        raise SettingsError("--executor, --workers and --progress are for a study.toml.")
    import refti

    chosen = pair_with_data(targets, data)
    names = distinct_names(chosen)
    if draws and len(names) > 1:
        raise SettingsError(f"--draws are those of one model; got {len(names)} models.")
    loud = not (quiet or as_json)
    for_stan = {"prior": prior_program, "check_prior": settings["check_prior"]}
    if solver_limit is not None:
        for_stan["solver_limit"] = solver_limit
    models = load_models(chosen, _print_stage if loud else _print_nothing, **for_stan)
    settings = {name: value for name, value in settings.items() if value is not None}
    settings["ladder"] = None if rungs is None else refti.power(rungs, exponent)
    settings["draws"] = list(draws) or None
    done = _run_models(dict(zip(names, models, strict=True)), store, loud, settings)
    table = refti.compare(done.results) if len(done.results) > 1 else None
    if as_json:
        record: dict[str, Any] = {"results": {n: r.to_dict() for n, r in done.results.items()}}
        record |= {"comparison": table.to_dict()} if table else {}
        print_json(record | ({"refused": done.refused} if done.refused else {}))
    else:
        print_results(done.results, done.refused, table)
        if store is not None and done.kept:
            kept = f": {', '.join(done.kept)}." if len(models) > 1 else "."
            click.echo(f"Kept in {store}{kept}")
    return BAD_INPUT if done.refused else verdict(all(r.trusted for r in done.results.values()))


@dataclass
class _Done:
    """What came of the models: results, messages of those refused, names of those kept."""

    results: dict[str, Evidence] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    kept: list[str] = field(default_factory=list)


def _run_models(
    models: dict[str, Model], store: Path | None, loud: bool, settings: dict[str, Any]
) -> _Done:
    """Runs one model after the other, until all are done or the user interrupts one."""
    import refti
    from refti.checks.ended import Ended

    done = _Done()
    for name, model in models.items():
        folder = store if store is None or len(models) == 1 else store / name
        if loud:
            click.echo(f"{name}: {model.dim} parameters", err=True)
        try:
            result = refti.evidence(model, store=folder, progress=loud, **settings)
        except (refti.ModelError, refti.ReferenceFitError, refti.SamplingError) as error:
            if len(models) == 1:
                raise
            done.refused[name] = str(error)  # one bad model must not cost the others
            continue
        done.results[name] = result
        if result.found.get("ended") == Ended.INTERRUPTED.value:
            break
        done.kept.append(name)
    return done


def _print_stage(stage: str, done: int, total: int) -> None:
    del total
    if done == 0:
        click.echo(stage, err=True)


def _print_nothing(stage: str, done: int, total: int) -> None:
    del stage, done, total
