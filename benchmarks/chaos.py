"""Chaos: a study whose workers and whose driver are killed at random, again and again.

`python -m benchmarks.chaos` runs a small study undisturbed, then on loky and on Dask while random
workers get `kill -9` and the driver itself does now and then; it is begun again each time, until it
comes to its end. Every model must then have the bits of the undisturbed run.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import click

import refti
from benchmarks.spread import bits, write_study


@dataclass
class Score:
    """What was done to a study, and what came of it."""

    worker_kills: int = 0
    driver_kills: int = 0
    begun: int = 0
    resumed: int = 0


@click.command()
@click.option("--models", default=6, show_default=True)
@click.option("--places", default="loky,dask", show_default=True)
@click.option("--workers-killed", default=10, show_default=True, help="For each place.")
@click.option("--drivers-killed", default=3, show_default=True, help="For each place.")
@click.option("--seconds", default=6.0, show_default=True, help="Between two kills, on average.")
@click.option("--seed", default=0, show_default=True, help="Of the kills.")
def main(
    models: int, places: str, workers_killed: int, drivers_killed: int, seconds: float, seed: int
) -> None:
    """Kill workers and drivers of a study until there were enough, and compare its bits."""
    with tempfile.TemporaryDirectory() as folder:
        calm = refti.run_study(write_study(Path(folder), models, kept=100, warmup=100))
        wanted = bits(calm)
        evaluations = sum(receipt["evaluations"] for receipt in calm.receipts.values())
    click.echo(f"undisturbed: {len(wanted)} models, {evaluations:,} evaluations")
    chance = random.Random(seed)
    same = True
    for place in places.split(","):
        score = Score()
        rounds = 0
        while score.worker_kills < workers_killed or score.driver_kills < drivers_killed:
            rounds += 1
            with tempfile.TemporaryDirectory() as folder:
                study = write_study(Path(folder), models, kept=100, warmup=100)
                left = drivers_killed - score.driver_kills
                _disturb(study, place, chance, seconds, score, min(left, 2), workers_killed)
                found = bits(refti.run_study(study, executor=None))
                same &= found == wanted
                log = (study.parent / "study-runs" / "events.jsonl").read_text().splitlines()
                score.begun += sum(json.loads(line)["event"] == "begun" for line in log)
                score.resumed += _blocks_read_again(study.parent / "study-runs")
        click.echo(
            f"{place}: {rounds} studies, {score.worker_kills} workers and {score.driver_kills} "
            f"drivers killed at work; models were begun {score.begun} times where "
            f"{rounds * models} would have done, going on from {score.resumed} blocks and values "
            f"that were there; bits as undisturbed: {same}"
        )
    sys.exit(0 if same else 1)


def _blocks_read_again(store: Path) -> int:
    """How many blocks and values runs that were killed found when they were taken up again."""
    events = [
        json.loads(line)
        for log in store.glob("*/events.jsonl")
        for line in log.read_text().splitlines()
        if line.endswith("}")
    ]
    return sum(event["blocks"] for event in events if event["event"] == "resumed")


def _disturb(
    study: Path,
    place: str,
    chance: random.Random,
    seconds: float,
    score: Score,
    drivers: int,
    most: int,
) -> None:
    """Runs a study to its end, killing its workers (at most so many) and some of its drivers."""
    while True:
        kill_driver = drivers > 0
        drivers -= kill_driver
        command = [sys.executable, "-m", "refti", "run", str(study), "--quiet", "--json"]
        driver = subprocess.Popen(
            [*command, "--executor", place, "--workers", "2"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for _ in range(chance.randint(1, 3) if kill_driver else 10**9):
            try:
                driver.wait(chance.uniform(0.5, 1.5) * seconds)
                return
            except subprocess.TimeoutExpired:
                workers = _at_work(study.parent / "study-runs")
                if workers and score.worker_kills < most:
                    score.worker_kills += _kill(chance.choice(workers))
        while not _at_work(study.parent / "study-runs") and driver.poll() is None:
            time.sleep(0.1)  # a driver whose workers are only starting has nothing to lose
        score.driver_kills += _kill(driver.pid)
        driver.wait()
        time.sleep(1.0)  # its workers notice


def _at_work(store: Path) -> list[int]:
    """The processes that run models of a study now, by the leases they hold."""
    found = []
    for lease in (store / "leases").glob("*.json"):
        with suppress(OSError, ValueError, KeyError):
            process = int(json.loads(lease.read_text())["process"])
            os.kill(process, 0)
            found.append(process)
    return found


def _kill(process: int) -> int:
    """Kills a process that this one, or a driver that it started, has begun."""
    try:
        os.kill(process, signal.SIGKILL)
    except ProcessLookupError:
        return 0
    return 1


if __name__ == "__main__":
    main()
