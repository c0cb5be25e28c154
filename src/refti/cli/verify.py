"""`refti verify`: whether runs are as they were written, and come out the same again."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from refti.cli.exit_codes import NOT_PASSED, PASSED
from refti.cli.printing import print_json
from refti.cli.targets import load_models, pair_with_data
from refti.errors import SettingsError


@click.command()
@click.argument("run", type=click.Path(path_type=Path), metavar="RUN")
@click.option(
    "--recompute", type=int, default=0, help="Number of blocks to compute again; needs --model."
)
@click.option("--model", help="The run's model: FILE.py:MODEL or FILE.stan.")
@click.option("--data", help="The data of a Stan program.")
@click.option(
    "--seed", type=int, default=0, show_default=True, help="Decides which blocks are picked."
)
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")
def verify(
    run: Path, recompute: int, model: str | None, data: str | None, seed: int, as_json: bool
) -> int:
    """Check that the files of a run are intact, and compute some of its blocks again.

    The exit code is 0 if everything is as it was written, and 1 otherwise. The model is never
    read from the run's folder; name it with --model.

    \b
    Examples:
      refti verify runs/m1
      refti verify runs/m1 --recompute 5 --model model.stan --data data.json
    """
    if recompute > 0 and model is None:
        raise SettingsError("--recompute needs --model: blocks are computed again from the model.")
    from refti.run.store import verify as verification

    if recompute > 0 and model is not None:
        chosen = pair_with_data((model,), (data,) if data else ())
        (loaded,) = load_models(chosen, lambda *told: None)
        found = verification.recompute(run, loaded, recompute, seed)
    else:
        found = verification.verify_files(run)
    if as_json:
        print_json({**asdict(found), "ok": found.ok})
    else:
        click.echo(f"{run}: {'as it was written' if found.ok else 'NOT as it was written'}")
        click.echo(f"  {found.files} files, {found.contents} blocks and values")
        click.echo(f"  digest of all blocks: {found.digest}")
        for damage in found.damaged:
            click.echo(f"  damaged: {damage}")
        if recompute > 0:
            same = found.recomputed - len(found.differing)
            click.echo(
                f"  computed again: {found.recomputed}, {same} of them identical to the last bit"
            )
        for name in found.differing:
            click.echo(f"  not the same: {name}")
    return PASSED if found.ok else NOT_PASSED
