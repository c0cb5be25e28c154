"""Stopping: `refti run` is told to stop in every stage that it has, and goes on to the same bits.

`python -m benchmarks.stopping` makes a run undisturbed, then again for every stage that its log
tells of and for some moments before the first: it is sent SIGINT or SIGTERM there, must end by
itself with exit code 3 and a word on where it was, leave no process behind, and give the bits of
the undisturbed run when the same command is said again.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import click

import refti

MODEL = """
import numpy as np
import jax.numpy as jnp
import refti

data = np.array([1.3, 2.1, 0.4, 1.9, 3.2])

def log_prior(x):
    return jnp.sum(-0.5 * x**2 - 0.5 * jnp.log(2 * jnp.pi))

def log_likelihood(x):
    scale = jnp.exp(x[1])
    return jnp.sum(-0.5 * ((data - x[0]) / scale) ** 2 - jnp.log(scale))

model = refti.Model(log_prior=log_prior, log_likelihood=log_likelihood, dim=2)
"""
SIGNALS = {"SIGINT": signal.SIGINT, "SIGTERM": signal.SIGTERM}
STOPPED, DONE = 3, (0, 1)
AT_START = (0.2, 0.8, 2.0)  # seconds after which it is stopped before it tells of any stage


@dataclass(frozen=True)
class Ended:
    """How a command ended: its exit code, what it said, and what it left running."""

    code: int
    said: str
    left: int
    stage: str


@click.command()
@click.option("--seed", default=0, show_default=True, help="Of the moments within a stage.")
@click.option("--target-error", default=0.02, show_default=True)
@click.option("--executor", help="Such as 2: blocks in processes of their own.")
def main(seed: int, target_error: float, executor: str | None) -> None:
    """Stop a run in every one of its stages, by both signals, and go on."""
    chance = random.Random(seed)
    # Where a shell started this in the background it ignores Ctrl-C, and so would its children.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "model.py").write_text(MODEL)
        os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(folder / "jax"))
        os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
        command = [
            sys.executable,
            "-m",
            "refti",
            "run",
            str(folder / "model.py:model"),
            "--witness",
        ]
        command += ["--target-error", str(target_error), "--quiet"]
        command += [] if executor is None else ["--executor", executor]
        calm = folder / "calm"
        subprocess.run([*command, "--store", str(calm)], stdout=subprocess.DEVNULL, check=False)
        wanted, stages = _bits(calm), _stages(calm)
        click.echo(f"undisturbed: {len(stages)} stages, bits {wanted[:12]}")
        faults = 0
        for moment in [*AT_START, *stages]:
            for name, number in SIGNALS.items():
                store = folder / f"{name} {moment}".replace("/", " ")
                ended = _stop(command, store, moment, number, chance.uniform(0.0, 0.3))
                faults += _judge(name, moment, ended, _go_on(command, store), wanted)
    click.echo(f"{faults} faults in {2 * (len(AT_START) + len(stages))} runs that were stopped")
    sys.exit(faults > 0)


def _stages(store: Path) -> list[str]:
    """The stages that a run told of, in their order."""
    found: list[str] = []
    with_stage = (line for line in _events(store) if line.get("event") == "stage")
    for event in with_stage:
        if event["stage"] not in found:
            found.append(event["stage"])
    return found


def _events(store: Path) -> list[dict[str, str]]:
    try:
        lines = (store / "events.jsonl").read_text().splitlines()
    except OSError:
        return []
    return [json.loads(line) for line in lines if line.endswith("}")]


def _stop(command: list[str], store: Path, moment: str | float, number: int, later: float) -> Ended:
    """Runs the command, and sends the signal so many seconds after it began or a stage did."""
    mark = uuid4().hex
    running = subprocess.Popen(
        [*command, "--store", str(store)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "REFTI_STOPPING_MARK": mark},
    )
    if isinstance(moment, float):
        time.sleep(moment)
    while isinstance(moment, str) and moment not in _stages(store) and running.poll() is None:
        time.sleep(0.005)
    time.sleep(later if isinstance(moment, str) else 0.0)
    running.send_signal(number)
    said, _ = running.communicate(timeout=300)
    left = _alive(mark)
    return Ended(running.returncode, said, left, (_stages(store) or [""])[-1])


def _alive(mark: str) -> int:
    """How many processes carry a mark, a moment after they should be gone."""
    found = 0
    for _ in range(20):
        found = 0
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                found += mark.encode() in (folder / "environ").read_bytes()
            except OSError:
                continue
        if not found:
            break
        time.sleep(0.1)
    return found


def _go_on(command: list[str], store: Path) -> str:
    """The bits that the same command ends with when it is said again."""
    subprocess.run([*command, "--store", str(store)], stdout=subprocess.DEVNULL, check=False)
    return _bits(store)


def _bits(store: Path) -> str:
    """A hash of a result's estimate and all its deltas."""
    result = refti.load(store)
    total = hashlib.sha256(repr((result.value, result.error)).encode())
    for leg in result.draws:
        total.update(leg.delta.tobytes())
    return total.hexdigest()


def _judge(name: str, moment: str | float, ended: Ended, bits: str, wanted: str) -> int:
    """How many things are wrong, which are printed."""
    # Told to stop when all was done but the printing, it may end as if it had not been told.
    over = ended.code in DONE and "log z" in ended.said
    by_itself = ended.code == STOPPED or over or (isinstance(moment, float) and ended.code < 0)
    told = over or ended.code < 0 or any(word in ended.said for word in ("Stopped", "stopped"))
    faults = {
        "exit code": not by_itself,
        "message": not told,
        "processes left": ended.left > 0,
        "bits": bits != wanted,
    }
    wrong = [what for what, is_wrong in faults.items() if is_wrong]
    where = f"{moment} s" if isinstance(moment, float) else moment
    click.echo(f"{name} at {where!r}: exit code {ended.code}, {', '.join(wrong) or 'as it should'}")
    if wrong:
        click.echo(f"    it said: {ended.said[-400:]!r}")
    return len(wrong)


if __name__ == "__main__":
    main()
