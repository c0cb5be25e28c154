"""The command line: one verb a job, a thin skin over the public names."""

from __future__ import annotations

import json
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from refti.cli.calibrate import calibrate
from refti.cli.reproduce import reproduce
from refti.errors import ModelError, RefTIError, SettingsError

if TYPE_CHECKING:
    from refti.models.model import Model
    from refti.results.comparison import Comparison

TRUSTED, NOT_TRUSTED, BAD_INPUT = 0, 1, 2


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="refti")
def commands() -> None:
    """The evidence of Bayesian models by referenced thermodynamic integration.

    Exit codes: 0 trusted, 1 finished but not trusted, 2 bad input.
    """


@commands.command()
@click.argument("targets", nargs=-1, required=True, metavar="FILE.py:MODEL|FILE.stan...")
@click.option("--data", multiple=True, help="JSON for Stan programs: one for all, or one each.")
@click.option("--prior-program", help="Stan program of the prior alone, for --path power.")
@click.option("--solver-limit", type=int, help="Right-hand sides a density of Stan may ask for.")
@click.option("--store", type=click.Path(path_type=Path), help="Directory to keep the run in.")
@click.option("--reference", default="auto", show_default=True, help="Where the path starts.")
@click.option("--path", default="referenced", show_default=True, help="referenced or power.")
@click.option("--rungs", type=int, help="Number of rungs, spaced by --exponent; adapted if absent.")
@click.option("--exponent", type=float, default=1.0, help="Spacing of --rungs; 1 is uniform.")
@click.option("--estimator", default="mbar", show_default=True, help="mbar, ti, stepping_stone.")
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
@click.option(
    "--draws",
    type=click.Path(path_type=Path),
    multiple=True,
    metavar="FILE",
    help="Posterior draws: .csv of CmdStan (once a chain) or .nc of ArviZ. For one model.",
)
@click.option("--kernel", default="hmc", show_default=True, help="hmc or nuts.")
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
    as_json: bool,
    quiet: bool,
    **settings: Any,
) -> int:
    """Estimate the evidence of one or more models, and compare them.

    A target is a Stan program, or a Python file and a name in it: a refti.Model, or a function
    without arguments that returns one. With several targets each is kept in a folder of --store
    by its name; a Stan program that is given with several data sets is named by the data.
    """
    import refti
    from refti.checks.ended import Ended

    files = _data_files(targets, data)
    names = _distinct_names(targets, files)
    if draws and len(names) > 1:
        raise SettingsError(f"--draws are those of one model; got {len(names)} models.")
    settings = {name: value for name, value in settings.items() if value is not None}
    ladder = None if rungs is None else refti.power(rungs, exponent)
    loud = not (quiet or as_json)
    for_stan = {"prior": prior_program, "check_prior": settings["check_prior"]}
    if solver_limit is not None:
        for_stan["solver_limit"] = solver_limit
    loaded = _load_all(targets, files, loud, **for_stan)
    models = dict(zip(names, loaded, strict=True))
    results, refused, kept = {}, {}, []
    for name, model in models.items():
        folder = None if store is None else store if len(models) == 1 else store / name
        if loud:
            click.echo(f"{name}: {model.dim} parameters", err=True)
        try:
            results[name] = refti.evidence(
                model,
                ladder=ladder,
                draws=list(draws) or None,
                store=folder,
                progress=loud,
                **settings,
            )
        except (refti.ModelError, refti.ReferenceFitError, refti.SamplingError) as error:
            if len(models) == 1:
                raise
            refused[name] = str(error)  # one bad model must not cost the others
            continue
        if results[name].found.get("ended") == Ended.INTERRUPTED.value:
            break
        kept.append(name)
    trusted = not refused and all(result.trusted for result in results.values())
    table = refti.compare(results) if len(results) > 1 else None
    if as_json:
        record: dict[str, Any] = {name: result.to_dict() for name, result in results.items()}
        comparison = {"comparison": table.to_dict()} if table else {}
        _echo_json({"results": record} | comparison | ({"refused": refused} if refused else {}))
    else:
        for name, result in results.items():
            click.echo(f"{name}: {result}")
            click.echo(f"  {_chosen(result)}")
            click.echo(f"  {_cost(result.cost)}")
            if "rejected" in result.found:
                click.echo(f"  {_rejected(result)}")
        for name, message in refused.items():
            click.echo(f"{name}: {message}")
        if table is not None:
            click.echo(f"\n{table}\n\n{_bayes_factor(table)}")
        if store is not None and kept:
            click.echo(f"Kept in {store}" + (f": {', '.join(kept)}." if len(models) > 1 else "."))
    return BAD_INPUT if refused else TRUSTED if trusted else NOT_TRUSTED


@commands.command()
@click.argument("folders", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--prior", multiple=True, metavar="NAME=WEIGHT", help="Prior weight of a model.")
@click.option("--json", "as_json", is_flag=True, help="Print the table as JSON.")
def compare(folders: tuple[Path, ...], prior: tuple[str, ...], as_json: bool) -> int:
    """Rank results kept in folders; each model is named by its folder."""
    import refti

    if len(folders) == 1:
        folders = tuple(sorted(f.parent for f in folders[0].glob("*/result.json"))) or folders
    names = [folder.resolve().name for folder in folders]
    if len(set(names)) < len(names):
        raise refti.CompareError(
            f"Models are named by their folders, which must differ; got {', '.join(names)}."
        )
    results = {name: refti.load(folder) for name, folder in zip(names, folders, strict=True)}
    table = refti.compare(results, prior=_weights(prior) if prior else None)  # type: ignore[arg-type]
    if as_json:
        _echo_json(table.to_dict())
    else:
        click.echo(str(table))
    return TRUSTED if table.trusted else NOT_TRUSTED


commands.add_command(calibrate)
commands.add_command(reproduce)


def main() -> None:
    """The command line, with its exit codes; bad input is told without a traceback."""
    try:
        code = commands(standalone_mode=False)
    except click.exceptions.Exit as done:
        code = done.exit_code
    except click.ClickException as error:
        error.show()
        code = BAD_INPUT
    except RefTIError as error:
        click.echo(f"refti: {error}", err=True)
        code = BAD_INPUT
    except OSError as error:
        click.echo(f"refti: {error}", err=True)
        code = BAD_INPUT
    except (KeyboardInterrupt, click.Abort):
        click.echo("refti: interrupted; finished results are kept.", err=True)
        code = 130
    sys.exit(code)


def _is_stan(target: str) -> bool:
    return target.endswith(".stan")


def _data_files(targets: tuple[str, ...], data: tuple[str, ...]) -> list[str | None]:
    """The data of each target, which only Stan programs have: one file for all, or one for each."""
    programs = sum(map(_is_stan, targets))
    if data and not programs:
        raise SettingsError("--data is for Stan programs; got none.")
    if len(data) not in (0, 1, programs):
        raise SettingsError(
            "--data takes one file for all Stan programs or one for each, in their order; got "
            f"{len(data)} for {programs}."
        )
    files = iter(data if len(data) == programs else [*data] * programs)
    return [next(files, None) if _is_stan(target) else None for target in targets]


def _load_all(
    targets: tuple[str, ...], files: list[str | None], loud: bool, **options: Any
) -> list[Model]:
    """The models of the targets; Stan programs are compiled side by side."""
    import refti
    from refti.inputs.named import from_name

    def load_stan(target: str, file: str | None) -> Model:
        report = partial(_tell, loud)
        return refti.from_stan(target, file, progress=report, **options)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        compiled = {
            index: pool.submit(load_stan, target, file)
            for index, (target, file) in enumerate(zip(targets, files, strict=True))
            if _is_stan(target)
        }
        return [
            compiled[index].result() if index in compiled else from_name(target)
            for index, target in enumerate(targets)
        ]


def _tell(loud: bool, stage: str, done: int, total: int) -> None:
    if loud and done == 0:
        click.echo(stage, err=True)


def _distinct_names(targets: tuple[str, ...], files: list[str | None]) -> list[str]:
    names = [
        Path(target).stem if _is_stan(target) else target.rpartition(":")[2] for target in targets
    ]
    names = [
        Path(file).stem if file is not None and names.count(name) > 1 else name
        for name, file in zip(names, files, strict=True)
    ]
    if len(set(names)) < len(names):
        raise ModelError(f"Models must have different names; got {', '.join(names)}.")
    return names


def _weights(prior: tuple[str, ...]) -> dict[str, float]:
    weights = {}
    for item in prior:
        name, _, weight = item.rpartition("=")
        try:
            weights[name] = float(weight)
        except ValueError:
            raise SettingsError(f"--prior takes NAME=WEIGHT; got {item!r}.") from None
    return weights


def _chosen(result: Any) -> str:
    """What the run chose by itself, in words."""
    rungs = sum(len(leg.lambdas) for leg in result.draws)
    reference = result.found.get("chosen_reference")
    if reference is None:
        return f"{rungs} rungs"
    return f"{rungs} rungs from the reference {reference}: {result.found['chosen_because']}"


def _rejected(result: Any) -> str:
    from refti.models.rejections import Rejections

    return str(Rejections(**result.found["rejected"]))


def _cost(cost: Any) -> str:
    return (
        f"{cost.gradient_evaluations:,} gradients, {cost.density_evaluations:,} densities, "
        f"{cost.seconds:.1f} s, of which {cost.compile_seconds:.1f} s compiling"
    )


def _bayes_factor(table: Comparison) -> str:
    best, second = table.rows[0].name, table.rows[1].name
    value, error = table.log_bayes_factor(best, second)
    return f"log Bayes factor of {best} over {second}: {value:.4f} ± {error:.4f}"


def _echo_json(value: Any) -> None:
    from refti.results.files import plain

    click.echo(json.dumps(plain(value), indent=2, allow_nan=False))
