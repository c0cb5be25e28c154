"""The evidences of models after published ones: `python -m benchmarks.case_studies [name ...]`.

Stan programs, and models of PyMC, Bambi and NumPyro. Beside each stands the evidence by another
way, where there is one: a closed form, quadrature, importance sampling or a particle filter that
uses neither refti nor the model's own language. With --command-line each is run by the command
line in a process of its own instead, and its number is compared with that of this process to the
last bit.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import hypot
from typing import TypeVar

from tests.case_studies import STUDIES
from tests.case_studies.exact import exact as of_program
from tests.case_studies.integrals import Exact
from tests.gallery import PUBLISHED
from tests.gallery.exact import EXACT

import refti

MAX_EVALUATIONS = 5_000_000
Made = TypeVar("Made")


@dataclass(frozen=True)
class Row:
    """A model after a published one.

    Attributes:
        name: its own.
        after: the published one.
        make: makes the model.
        other: its evidence by another way, or None.
        arguments: those by which the command line runs it.
    """

    name: str
    after: str
    make: Callable[[], refti.Model]
    other: Callable[[], Exact | None]
    arguments: tuple[str, ...]


def rows() -> list[Row]:
    """All of them, Stan first."""
    programs = [
        Row(
            study.name,
            study.after,
            partial(refti.from_stan, study.program, data=study.data),
            partial(of_program, study.name),
            (str(study.program), "--data", str(study.data)),
        )
        for study in STUDIES
    ]
    others = [
        Row(
            one.name,
            one.after,
            one.model,
            EXACT.get(one.name, _nothing),
            (f"tests.gallery.{one.place}",),
        )
        for one in PUBLISHED
    ]
    return programs + others


def main() -> None:
    """Prints one row a model as it is done."""
    names = [name for name in sys.argv[1:] if not name.startswith("--")]
    wanted = [row for row in rows() if not names or row.name in names]
    if "--command-line" in sys.argv:
        print("| model | log z | of the command line | same bits |\n|---|---:|---:|---|")
        for row in wanted:
            print(beside_command_line(row), flush=True)
        return
    print("| model | after | parameters | log z | by another way | z | trusted | gradients | s |")
    print("|---|---|---:|---:|---:|---:|---|---:|---:|")
    for row in wanted:
        print(line(row), flush=True)


def line(row: Row) -> str:
    """The line of a model, with its evidence by another way and how far off that is, in errors."""
    other = row.other()
    told = "—" if other is None else f"{other[0]:.3f} ± {other[1]:.3f}"
    try:
        model = _quietly(row.make)
        result = _quietly(lambda: run(row.name, model))
    except refti.RefTIError as error:
        return f"| {row.name} | {row.after} | — | — | {told} | — | no: {error} | — | — |"
    reasons = "; ".join(f"{c.name}: {c.advice}" for c in result.checks if not c.ok)
    verdict = f"no: {reasons}" if reasons else "yes"
    both = 0.0 if other is None else hypot(result.error, other[1])
    off = "—" if other is None else f"{(result.log_z - other[0]) / max(both, 1e-9):+.1f}"
    numbers = f"{result.log_z:.3f} ± {result.error:.3f} | {told} | {off}"
    cost = f"{result.cost.gradient_evaluations:,} | {result.cost.seconds:.0f}"
    return f"| {row.name} | {row.after} | {model.dim} | {numbers} | {verdict} | {cost} |"


def run(name: str, model: refti.Model) -> refti.Evidence:
    """The evidence of a model, as the table has it."""
    return refti.evidence(
        model, max_evaluations=MAX_EVALUATIONS, seed=seed_of(name), progress=False
    )


def seed_of(name: str) -> int:
    """A seed of its own for every model, as the command line gives to several under seed 0.

    Models that share random numbers err alike: one unlucky draw would show in many rows.
    """
    digest = hashlib.sha256(f"0\0{name}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1


def beside_command_line(row: Row) -> str:
    """The line of a model by both ways."""
    own = _quietly(lambda: run(row.name, row.make()))
    command = [sys.executable, "-m", "refti", "run", *row.arguments, "--json"]
    command += ["--max-evaluations", str(MAX_EVALUATIONS)]
    command += ["--seed", str(seed_of(row.name))]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    try:
        (said,) = json.loads(ended.stdout)["results"].values()
    except (ValueError, KeyError):
        return f"| {row.name} | {own.log_z!r} | — | no: {ended.stderr.strip()[-300:]} |"
    same = (said["value"], said["error"]) == (own.log_z, own.error)
    return f"| {row.name} | {own.log_z!r} | {said['value']!r} | {'yes' if same else 'no'} |"


def _nothing() -> None:
    """No other way."""


def _quietly(action: Callable[[], Made]) -> Made:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return action()


if __name__ == "__main__":
    main()
