"""`refti worker`: one of several processes that share the folder of a study, or of one run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from refti.cli.exit_codes import BAD_INPUT, STOPPED_EARLY, TRUSTED
from refti.cli.targets import load_models, pair_with_data
from refti.errors import SettingsError


@click.command()
@click.argument("run", metavar="RUN", type=click.Path(path_type=Path, exists=True))
@click.option(
    "--shard",
    default="1/1",
    show_default=True,
    metavar="I/N",
    help="Which share of the models to work on first.",
)
@click.option("--model", help="The model of a single run: FILE.py:MODEL or FILE.stan.")
@click.option("--data", help="The data of a Stan program.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per model.")
def worker(run: Path, shard: str, model: str | None, data: str | None, as_json: bool) -> int:
    """Work on the models of a study: first on a share of them, then on what is left.

    RUN is the folder of a study, or its study.toml. Any number of workers may share a folder, on
    any machines that see it; none opens a port. If RUN is the folder of a single run, with --model,
    the worker helps the process that leads the run, or leads it if there is none.

    \b
    Examples:
      refti worker study.toml
      refti worker runs --shard 3/16
      refti worker runs/m1 --model model.stan --data data.json
    """
    from refti.study.shards import in_other_hands, parse_shard, work_on

    part = parse_shard(shard)
    if model is not None or _is_single(run):
        return _work_on_run(run, model, data, as_json)
    faults: list[str] = []

    def tell(name: str, outcome: dict[str, Any] | str) -> None:
        if isinstance(outcome, str):
            faults.append(name)
        _tell(name, outcome, as_json)

    is_whole = work_on(run, part, tell)
    if is_whole:
        click.echo("All models are finished.", err=True)
    elif others := in_other_hands(run):
        from refti.results.text import list_names

        click.echo(f"Other workers are working on {list_names(others)}.", err=True)
    return BAD_INPUT if faults else TRUSTED


def _is_single(folder: Path) -> bool:
    """Whether it is the folder of a run that belongs to no study."""
    return (folder / "run.json").exists() and not (folder.resolve().parent / "study.json").exists()


def _work_on_run(folder: Path, target: str | None, data: str | None, as_json: bool) -> int:
    """Joins in a single run, and tells its result."""
    if target is None:
        raise SettingsError(
            f"{folder} holds a single run, and its model is never read from there. Give it by "
            "--model (and --data), or repeat the command that started the run: both join in."
        )
    from refti.run.join import join_run

    (model,) = load_models(pair_with_data((target,), (data,) if data else ()), lambda *told: None)
    result = join_run(folder, model)
    record = {"log_z": result.log_z, "error": result.error, "trusted": result.trusted}
    _tell(folder.resolve().name, {"name": folder.resolve().name, **record}, as_json)
    return STOPPED_EARLY if result.found.get("ended") else TRUSTED


def _tell(name: str, outcome: dict[str, Any] | str, as_json: bool) -> None:
    """Prints what came of a model, or what is wrong with it."""
    from refti.results.files import plain
    from refti.results.text import plus_minus, printable

    if as_json:
        record = {"name": name, "error": outcome} if isinstance(outcome, str) else outcome
        click.echo(json.dumps(plain(record)))
    elif isinstance(outcome, str):
        click.echo(f"{printable(name)}: {outcome}", err=True)
    else:
        value = plus_minus(float(outcome["log_z"]), float(outcome["error"]))
        trust = "trusted" if outcome["trusted"] else "NOT TRUSTED"
        click.echo(f"{printable(name)}: log z = {value}, {trust}")
