"""The process of one program on one problem: `... benchmarks.peers.child PROGRAM PROBLEM SEED...`.

It prints a line for every seed as soon as there is an answer. The first run is cold: its seconds
count from when the process was started, which BENCH_STARTED tells.
"""

from __future__ import annotations

import os
import resource
import sys
import time
from dataclasses import asdict
from json import dumps

MARK = "row "
USES = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)


def main() -> None:
    """Runs the seeds one after the other."""
    started = float(os.environ.get("BENCH_STARTED", time.time()))
    from benchmarks.peers.problems import problems
    from benchmarks.peers.programs import PROGRAMS
    from benchmarks.peers.rows import Row

    program, problem = PROGRAMS[sys.argv[1]], problems()[sys.argv[2]]
    for turn, seed in enumerate(map(int, sys.argv[3:])):
        begun, worked = (started, 0.0) if turn == 0 else (time.time(), _processor_seconds())
        answer = program.answer(problem, seed)
        seconds = time.time() - begun
        megabytes = max(resource.getrusage(use).ru_maxrss for use in USES) / 1024
        row = Row(
            problem.name,
            program.name,
            seed,
            "ok",
            turn == 0,
            seconds,
            _processor_seconds() - worked,
            megabytes=megabytes,
            **asdict(answer),
        )
        print(MARK + dumps(asdict(row)), flush=True)


def _processor_seconds() -> float:
    """The seconds that processors worked for this process and its children so far."""
    return sum(sum(resource.getrusage(use)[:2]) for use in USES)


if __name__ == "__main__":
    main()
