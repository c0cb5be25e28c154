"""The benchmark: `python -m benchmarks.peers.run [--quick]`; it goes on from rows that are there.

Every program on every problem is a process in an environment of its own, which runs some seeds one
after the other: the first cold, the others warm. A seed that takes longer than --limit seconds is
ended, noted, and so are those after it.
"""

from __future__ import annotations

import argparse
import os
import re
import selectors
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict
from json import JSONDecodeError, loads
from pathlib import Path
from typing import Any

from benchmarks.peers import rstan
from benchmarks.peers.child import MARK
from benchmarks.peers.environments import ROOT, environment, variables
from benchmarks.peers.problems import Problem, problems
from benchmarks.peers.programs import PROGRAMS, Program
from benchmarks.peers.rows import Row, read_row, without_answer
from refti.studies import append_record, read_records

ROWS = Path(__file__).parent / "rows.jsonl"
WORK = ROOT / "runs" / "bench"
SEEDS, SEEDS_OF_MINUTES, QUICK_SEEDS = 10, 3, 3


def main() -> None:
    """Makes the rows that are not there yet."""
    given = _arguments()
    done = {row.key for row in read_records(given.output, read_row)}
    chosen = [p for p in problems().values() if _is_chosen(p, given)]
    why_not_r = rstan.missing() if "rstan" in given.programs else ""
    if why_not_r:
        print(f"R bridgesampling is left out. {why_not_r}.", flush=True)
    for problem in chosen:
        for name in given.programs:
            program = PROGRAMS[name]
            if not program.takes(problem) or (name == "rstan" and why_not_r):
                continue
            count = _seeds(problem, given)
            seeds = [s for s in range(count) if (problem.name, name, s) not in done]
            for row in run_seeds(program, problem, seeds, given.limit):
                append_record(given.output, asdict(row))
                print(_line(row, problem), flush=True)


def run_seeds(
    program: Program, problem: Problem, seeds: Sequence[int], limit: float
) -> Iterator[Row]:
    """Yields a row for every seed, with an answer or the reason why there is none."""
    if not seeds:
        return
    try:
        python = environment(program.environment, WORK / "environments")
    except RuntimeError as error:
        yield from (without_answer(problem.name, program.name, s, str(error), 0.0) for s in seeds)
        return
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile("w+") as errors:
        # An empty cache: what is told cold is what a user waits for the first time.
        own = {**variables(), "BENCH_R_CACHE": folder, "REFTI_COMPILATION_CACHE": "off"}
        command = [str(python), "-m", "benchmarks.peers.child", program.name, problem.name]
        if program.again:
            own |= {"REFTI_CACHE": folder, "REFTI_COMPILATION_CACHE": "on"}
            with suppress(subprocess.TimeoutExpired):  # then the second takes too long as well
                options: dict[str, Any] = {"env": own, "cwd": ROOT, "timeout": limit}
                subprocess.run([*command, str(seeds[0])], capture_output=True, **options)
        process = subprocess.Popen(
            [*command, *map(str, seeds)],
            env={**own, "BENCH_STARTED": repr(time.time())},
            stdout=subprocess.PIPE,
            stderr=errors,
            cwd=ROOT,
            start_new_session=True,
        )
        try:
            left = list(seeds)
            for row in _rows(process, limit):
                left.remove(row.seed)
                yield row
            timed_out = process.poll() is None
            _end(process)
            why = f"longer than {limit:g} s" if timed_out else _last_line(errors)
            seconds = limit if timed_out else 0.0
            for seed in left:
                yield without_answer(problem.name, program.name, seed, why, seconds)
        finally:
            _end(process)


def _rows(process: subprocess.Popen[bytes], limit: float) -> Iterator[Row]:
    """Yields what the process prints, until it ends or a row takes too long."""
    assert process.stdout is not None
    os.set_blocking(process.stdout.fileno(), False)
    selector = selectors.DefaultSelector()
    selector.register(process.stdout, selectors.EVENT_READ)
    text, until = b"", time.monotonic() + limit
    while time.monotonic() < until:
        if not selector.select(timeout=1.0):
            continue
        chunk = process.stdout.read()
        if not chunk:
            process.wait()
            return
        text += chunk
        *lines, text = text.split(b"\n")
        for line in lines:
            row = parse(line.decode(errors="replace"))
            if row is not None:
                until = time.monotonic() + limit
                yield row


def parse(line: str) -> Row | None:
    """The row of a line, or None: programs print all kinds of things."""
    if not line.startswith(MARK):
        return None
    try:
        return read_row(loads(line.removeprefix(MARK)))
    except (JSONDecodeError, KeyError, TypeError, ValueError):
        return None


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ends a process and those that it began."""
    if process.poll() is None:
        os.killpg(process.pid, 9)
    process.wait()


def _last_line(errors: object) -> str:
    """What an error said; JAX prints more after it."""
    errors.seek(0)  # type: ignore[attr-defined]
    lines = errors.read().strip().splitlines()  # type: ignore[attr-defined]
    named = [line for line in lines if re.match(r"[\w.]+(Error|Exception|Interrupt)\b", line)]
    return (named or lines or ["it ended without an answer"])[-1][:200]


def _is_chosen(problem: Problem, given: argparse.Namespace) -> bool:
    if given.problems:
        return problem.name in given.problems
    return problem.quick or not given.quick


def _seeds(problem: Problem, given: argparse.Namespace) -> int:
    if given.seeds:
        return int(given.seeds)
    if given.quick:
        return QUICK_SEEDS
    return SEEDS_OF_MINUTES if problem.minutes else SEEDS


def _line(row: Row, problem: Problem) -> str:
    if row.status != "ok":
        return f"{row.problem}, {row.program}, seed {row.seed}: {row.status}"
    return (
        f"{row.problem}, {row.program}, seed {row.seed}: {row.seconds:.1f} s"
        f"{' cold' if row.cold else ''}, off by {row.log_z - problem.truth:+.3f}, "
        f"claims {row.error:.3f}"
    )


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="short problems, 3 seeds")
    parser.add_argument("--problems", type=_names, help="names with commas between")
    parser.add_argument("--programs", type=_names, default=list(PROGRAMS))
    parser.add_argument("--seeds", type=int, help="10, or 3 where a run takes minutes")
    parser.add_argument("--limit", type=float, default=600.0, help="seconds of a run")
    parser.add_argument("-o", "--output", type=Path, default=ROWS)
    return parser.parse_args()


def _names(text: str) -> list[str]:
    return text.split(",")


if __name__ == "__main__":
    main()
