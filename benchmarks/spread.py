"""What it brings to spread a study over workers, what it costs, and that it changes no bit.

`python -m benchmarks.spread gain` runs sixteen small models in one process, on loky and on Dask;
`... dear` one Stan model of a millisecond a gradient, also by two processes that join in one run;
`... bits` runs a study everywhere it can run; `... sleeping` sends ten thousand tasks that sleep.
"""

from __future__ import annotations

import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import click

import refti
from refti.studies import Supervisor, Task

# Small models of many programs: each has to be compiled, as models of users have to be.
SMALL = 16
MODELS = """
import refti

for target in refti.suite.EASY:
    globals()[target.name] = target.model
"""
# A density of a millisecond: its gradient factors a matrix of all observations.
GAUSSIAN_PROCESS = """
data { int n; array[n] real x; vector[n] y; }
parameters { real<lower=0> length; real<lower=0> height; real<lower=0> noise; }
model {
  matrix[n, n] k = add_diag(gp_exp_quad_cov(x, height, length), square(noise) + 1e-6);
  target += inv_gamma_lpdf(length | 5, 5) + normal_lpdf(height | 0, 1) + normal_lpdf(noise | 0, 1);
  target += multi_normal_cholesky_lpdf(y | rep_vector(0, n), cholesky_decompose(k));
}
"""


def write_study(folder: Path, models: int, *, seed: int = 0, **settings: Any) -> Path:
    """A study.toml of so many small models of the suite."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "models.py").write_text(MODELS)
    names = [target.name for target in refti.suite.EASY if target.dim <= 10][:models]
    lines = [f"seed = {seed}", "", "[settings]", "check_prior = false"]
    lines += [f"{name} = {value}" for name, value in settings.items()]
    for name in names:
        lines += ["", f"[models.{name}]", f'file = "models.py:{name}"', f'data_name = "{name}"']
    study = folder / "study.toml"
    study.write_text("\n".join(lines) + "\n")
    return study


def bits(result: refti.StudyResult) -> dict[str, str]:
    """The hash of each model's numbers."""
    return {name: receipt["bits"] for name, receipt in result.receipts.items()}


@click.group()
def main() -> None:
    """Studies on several workers."""


@main.command()
@click.option("--models", default=SMALL, show_default=True)
@click.option("--places", default="none,one core,loky,dask", show_default=True)
@click.option("--warm", is_flag=True, help="Run each study twice, and time the second time.")
def gain(models: int, places: str, warm: bool) -> None:
    """Wall time of a study on two workers over that in one process of all cores, or of one."""
    alone = None
    for place in places.split(","):
        with tempfile.TemporaryDirectory() as folder:
            for _ in range(1 + warm):
                study = write_study(Path(folder), models)
                shutil.rmtree(study.parent / "study-runs", ignore_errors=True)
                # In a process and with a cache of its own: none finds what another has compiled.
                workers = 2 if place in ("loky", "dask") else 1
                command = ["run", str(study), "--json", "--quiet", "--workers", "2"]
                command += ["--executor", place if workers == 2 else "none"]
                core = 0 if place == "one core" else None
                seconds, record = _timed(command, Path(folder), core=core)
        alone = alone or seconds
        outside = 1 - record["spread"]["running_seconds"] / (seconds * workers)
        click.echo(
            f"{place}: {seconds:.1f} s, ratio {seconds / alone:.2f}, {record['busy']:.0f} s of "
            f"computing in all processes; outside the models' own runs "
            f"{outside:.1%} of the workers' time; {record['spread']['megabytes']:.0f} MB a worker; "
            f"{len(record['models'])} done, {len(record['failed'])} failed"
        )


def _timed(
    arguments: list[str], cache: Path | None = None, core: int | None = None
) -> tuple[float, Any]:
    """The seconds that a command of refti took, on one core or all, and what it printed."""
    environment = dict(os.environ)
    environment |= {} if cache is None else {"REFTI_CACHE": str(cache / "cache")}
    environment |= {} if core is None else {"REFTI_CORES": "1"}
    # XLA takes what the system lets it have, whatever refti is told.
    bound = [] if core is None else ["taskset", "--cpu-list", str(core)]
    began, before = time.monotonic(), os.times()
    done = subprocess.run(
        [*bound, sys.executable, "-m", "refti", *arguments],
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    )
    seconds, after = time.monotonic() - began, os.times()
    busy = after.children_user + after.children_system
    busy -= before.children_user + before.children_system
    return seconds, {**json.loads(done.stdout), "busy": busy}


@main.command()
@click.option("--size", default=120, show_default=True, help="Observations of the process.")
@click.option("--places", default="one core,none,2,dask,joined", show_default=True)
def dear(size: int, places: str) -> None:
    """Wall time of one dear Stan model on two workers over that in a process of one core.

    "none" is one process of two cores; "joined" are two processes of a core each that are told to
    make the same run.
    """
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "process.stan").write_text(GAUSSIAN_PROCESS)
        x = [4 * i / size for i in range(size)]
        data = {"n": size, "x": x, "y": [math.sin(3 * a) + 0.1 * math.cos(40 * a) for a in x]}
        (folder / "data.json").write_text(json.dumps(data))
        command = ["run", str(folder / "process.stan"), "--data", str(folder / "data.json")]
        command += ["--kept", "100", "--warmup", "100", "--rungs", "6", "--search", "quick"]
        command += ["--no-prior-check", "--target-error", "0.5", "--quiet", "--json"]
        _timed([*command, "--max-evaluations", "2000"])  # compiles what all of them use
        alone, values = None, set()
        for name in places.split(","):
            seconds, log_z, inside = _time_one(name, command, folder)
            alone = alone or seconds
            values.add(log_z)
            click.echo(f"{name}: {seconds:.1f} s, ratio {seconds / alone:.2f}; {inside}")
        click.echo(f"the same bits: {len(values) == 1}")


def _time_one(name: str, command: list[str], folder: Path) -> tuple[float, float, str]:
    """The seconds of a run in a place, its log z, and what of them was not sampling."""
    store = ["--store", str(folder / name.replace(" ", "-"))]
    if name == "joined":
        with ThreadPoolExecutor(2) as pool:
            both = [pool.submit(_timed, [*command, *store], core=core) for core in (0, 1)]
            (seconds, record), _ = (one.result() for one in both)
    elif name == "one core":
        seconds, record = _timed([*command, *store], core=0)
    else:
        executor = [] if name == "none" else ["--executor", name]
        seconds, record = _timed([*command, *store, *executor])
    (result,) = record["results"].values()
    own = result["cost"]["seconds"]
    compiling = result["cost"]["compile_seconds"]
    return (
        seconds,
        result["value"],
        f"{1 - (own - compiling) / seconds:.1%} of it starting and compiling",
    )


@main.command("bits")
@click.option("--models", default=4, show_default=True)
@click.option("--places", default="loky,Dask,shards", show_default=True, help="mpiexec too.")
def same_bits(models: int, places: str) -> None:
    """The same study in process, on 1, 2 and 3 processes, on Dask, as three shards, under MPI."""
    known: dict[str, Callable[[Path], refti.StudyResult]] = {
        "in process": lambda study: refti.run_study(study, executor=None),
        **{
            f"loky, {n} workers": lambda study, n=n: refti.run_study(study, executor=n)  # type: ignore[misc]
            for n in (1, 2, 3)
        },
        "Dask, 2 workers": lambda study: refti.run_study(study, executor="dask", workers=2),
        "three shards": _shards,
        "mpiexec, 2 workers": _mpi,
    }
    wanted = ["in process", *places.split(",")]
    found = {}
    for place, run in known.items():
        if not any(word in place for word in wanted):
            continue
        found[place] = _all_bits(run, models, seed=0)
        click.echo(f"{place}: {' '.join(value[:8] for value in found[place].values())}")
    changed = _all_bits(known["in process"], models, seed=1)
    first = found["in process"]
    same = all(one == first for one in found.values())
    detected = all(changed[name] != first[name] for name in first)
    click.echo(f"same bits everywhere: {same}; another seed is told apart: {detected}")
    sys.exit(0 if same and detected and len(first) == 2 * models else 1)


def _all_bits(
    run: Callable[[Path], refti.StudyResult], models: int, *, seed: int
) -> dict[str, str]:
    """The hash of each model's numbers, and that of all the blocks it is made of."""
    with tempfile.TemporaryDirectory() as folder:
        done = run(write_study(Path(folder), models, seed=seed, kept=100, warmup=100))
        found = bits(done)
        for name, place in done.folders.items():
            command = [sys.executable, "-m", "refti", "verify", str(place), "--json"]
            told = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout
            found[f"blocks of {name}"] = json.loads(told)["digest"]
        return found


def _shards(study: Path) -> refti.StudyResult:
    command = [sys.executable, "-m", "refti", "worker", str(study), "--shard"]
    running = [subprocess.Popen([*command, f"{i}/3"], stdout=subprocess.DEVNULL) for i in (1, 2, 3)]
    for process in running:
        process.wait()
    return refti.run_study(study, executor=None)


def _mpi(study: Path) -> refti.StudyResult:
    command = ["mpiexec", "-n", "3", sys.executable, "-m", "mpi4py.futures", "-m"]
    # Three processes, whatever the number of cores: the first one only hands out.
    environment = {**os.environ, "OMPI_MCA_rmaps_base_oversubscribe": "1"}
    arguments = ["benchmarks.spread", "under-mpi", str(study)]
    subprocess.run([*command, *arguments], check=True, env=environment)
    return refti.run_study(study, executor=None)


@main.command()
@click.argument("study", type=click.Path(path_type=Path, exists=True))
def under_mpi(study: Path) -> None:
    """Run a study in the processes that mpiexec started, all but the first."""
    from mpi4py.futures import MPIPoolExecutor

    with MPIPoolExecutor() as pool:
        done = refti.run_study(study, executor=pool)
    workers = {receipt["worker"] for receipt in done.receipts.values()}
    click.echo(f"under MPI: {len(done.receipts)} models in {len(workers)} processes")


@main.command()
@click.option("--tasks", default=10_000, show_default=True)
@click.option("--seconds", default=0.0, show_default=True, help="That each one sleeps.")
@click.option("--places", default="loky,dask", show_default=True)
@click.option("--workers", default=2, show_default=True)
def sleeping(tasks: int, seconds: float, places: str, workers: int) -> None:
    """How many tasks a minute the supervisor can serve."""
    for place in places.split(","):
        with Supervisor(place, workers=workers) as crew:
            crew.submit(Task("first", time.sleep, (0.0,))).result()  # the workers are there
            before, began = time.process_time(), time.monotonic()
            spread = crew.run(Task(f"{i}", time.sleep, (seconds,)) for i in range(tasks))
            wall, own = time.monotonic() - began, time.process_time() - before
            each = wall - tasks * seconds / workers
            click.echo(
                f"{place}, {workers} workers, {tasks} tasks of {seconds:g} s: {wall:.1f} s, "
                f"{60 * tasks / wall:,.0f} tasks a minute; the driver itself computed "
                f"{1000 * own / tasks:.2f} ms a task, so {60 * tasks / own:,.0f} a minute at most; "
                f"{1000 * each / tasks:.2f} ms a task beyond sleeping; sending one alone "
                f"{1000 * crew.sending_seconds():.1f} ms; {spread.share_outside:.1%} waiting"
            )


if __name__ == "__main__":
    main()
