"""R: rstan's NUTS and the bridgesampling package, each run in a process of R."""

from __future__ import annotations

import math
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.peers.problems import Problem
from benchmarks.peers.rows import Answer

SCRIPT = Path(__file__).with_name("bridge.R")


def missing() -> str:
    """Why R cannot be used here, in a sentence; empty if it can."""
    if shutil.which("Rscript") is None:
        return "R is not installed: apt-get install r-cran-rstan r-cran-bridgesampling"
    wanted = 'quit(status = !all(c("rstan", "bridgesampling") %in% rownames(installed.packages())))'
    if subprocess.run(["Rscript", "-e", wanted], capture_output=True).returncode:
        return "R has no rstan or no bridgesampling: apt-get install r-cran-rstan " + (
            "r-cran-bridgesampling r-cran-bh libboost-dev"
        )
    return ""


def run(problem: Problem, seed: int) -> Answer:
    """4 chains of 2,000 iterations by rstan, then bridge_sampler at its defaults.

    The compiled program is kept in the folder that BENCH_R_CACHE names, as auto_write of rstan
    would keep it, so later runs are warm.
    """
    assert problem.data is not None
    kept = Path(os.environ.get("BENCH_R_CACHE") or tempfile.gettempdir())
    kept.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        data, answer = Path(folder, "data.R"), Path(folder, "answer")
        data.write_text(dump(problem.data()))
        program = kept / f"{problem.name}.rds"
        arguments = [problem.program_for_r, data, answer, program, seed]
        done = subprocess.run(
            ["Rscript", "--vanilla", SCRIPT, *map(str, arguments)], capture_output=True, text=True
        )
        if not answer.exists():
            last = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
            raise RuntimeError(f"R: {last}")
        found = dict(line.split() for line in answer.read_text().splitlines())
    return Answer(
        float(found["log_z"]),
        math.sqrt(float(found["re2"])),
        round(float(found["gradients"])),
        round(float(found["calls"])),
        float(found["sampling_seconds"]),
    )


def dump(data: dict[str, Any]) -> str:
    """The data as R reads them, matrices column by column."""
    lines = []
    for name, value in data.items():
        array = np.asarray(value)
        numbers = ", ".join(map(repr, array.ravel(order="F").tolist()))
        if array.ndim == 0:
            lines.append(f"{name} <- {numbers}")
        elif array.ndim == 1:
            lines.append(f"{name} <- c({numbers})")
        else:
            lines.append(f"{name} <- structure(c({numbers}), .Dim = c{array.shape})")
    return "\n".join(lines) + "\n"
