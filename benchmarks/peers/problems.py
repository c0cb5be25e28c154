"""Problems: each defined once, in every form that a program may want, with its log evidence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import refti
from benchmarks.peers import known, splits
from benchmarks.peers.splits import Split
from refti import suite
from refti.paper.covid import model as covid
from refti.paper.covid.cases import south_korea
from refti.paper.covid.priors import stationary_share
from refti.paper.radiata import model as radiata

STAN = Path(__file__).parent / "stan"


@dataclass(frozen=True)
class Problem:
    """A problem in all its forms; a program that needs a form which is not there leaves it out.

    Attributes:
        name: what rows know it by.
        dim: its parameters.
        about: what it is, in a few words.
        model: makes the log density on unconstrained coordinates, in JAX.
        truth: the log evidence.
        truth_error: the error of the truth; 0 where it is exact.
        split: makes prior and likelihood apart, with the map from the unit cube to the prior.
        zoo: the module of the model zoo that has it in Stan and PyMC.
        data: for the Stan program of its name, which R runs.
        minutes: whether a run takes minutes, so that fewer seeds must do.
        quick: whether `make bench-quick` has it.
    """

    name: str
    dim: int
    about: str
    model: Callable[[], refti.Model]
    truth: float
    truth_error: float = 0.0
    split: Callable[[], Split] | None = None
    zoo: str | None = None
    data: Callable[[], dict[str, Any]] | None = None
    minutes: bool = False
    quick: bool = False

    @property
    def program_for_r(self) -> Path:
        """The Stan program in the syntax of 2.21, with every constant in it."""
        return STAN / f"{self.name}.stan"


def _of_suite(target: suite.Target, *, quick: bool = False, minutes: bool = False) -> Problem:
    box = target.box
    return Problem(
        target.name,
        target.dim,
        target.about,
        target.model,
        target.log_z,
        split=None if box is None else lambda: splits.of_box(box),
        quick=quick,
        minutes=minutes,
    )


def _zoo(name: str) -> Any:
    from tests.zoo import MODELS

    return MODELS[name]


def _of_zoo(name: str, dim: int, about: str, truth: float, error: float, **more: Any) -> Problem:
    return Problem(
        name,
        dim,
        about,
        lambda: _zoo(name).jax_model(),
        truth,
        error,
        zoo=name,
        data=lambda: _zoo(name).DATA,
        **more,
    )


def _skewed(dim: int, *, quick: bool = False, minutes: bool = False) -> Problem:
    """A target of the suite, made only when it is run: it holds a matrix of dim by dim."""
    return Problem(
        f"skewed_{dim}",
        dim,
        "skewed and correlated",
        lambda: suite.skewed(dim).model(),
        known.log_z_of_skewed(dim),
        quick=quick,
        minutes=minutes,
    )


def _covid(name: str, dim: int, truth: float, error: float) -> Problem:
    called = name.replace("=", "").replace("(", "").replace(")", "").lower()
    return Problem(
        f"covid_{called}",
        dim,
        f"COVID-19 in South Korea, {name}",
        lambda: covid.model(covid.variant(name)),
        truth,
        error,
        zoo="renewal" if name == "AR(2)" else None,
        data=_cases if name == "AR(2)" else None,
        minutes=True,
    )


def _cases() -> dict[str, Any]:
    """South Korea's cases, for the zoo's program, which is the model but for R0.

    R0 has a prior and bears on nothing else, so the evidence is the same without it.
    """
    counts = south_korea().counts
    inside = stationary_share(*covid.variant("AR(2)").coefficients)
    return {"N": len(counts), "y": counts, "log_stationary": float(np.log(inside))}


def problems() -> dict[str, Problem]:
    """All problems by name, the quick ones first."""
    of_schools = {"truth": known.eight_schools(), "error": 0.0}
    found = [
        Problem(
            "radiata",
            3,
            "radiata pine, regression",
            radiata.density,
            radiata.EXACT_LOG_Z["density"],
            split=splits.of_radiata,
            data=known.radiata_data,
            quick=True,
        ),
        _of_zoo(
            "schools_noncentred",
            10,
            "eight schools, not centred",
            split=splits.of_schools,
            quick=True,
            **of_schools,
        ),
        _of_zoo(
            "schools_centred",
            10,
            "eight schools, centred",
            split=splits.of_schools_centred,
            quick=True,
            **of_schools,
        ),
        Problem(
            "logistic_8",
            8,
            "logistic regression",
            lambda: known.logistic(8),
            *known.LOGISTIC[8],
            split=lambda: splits.of_logistic(8),
            data=lambda: known.logistic_data(8),
            quick=True,
        ),
        Problem(
            "logistic_21",
            21,
            "logistic regression",
            lambda: known.logistic(21),
            *known.LOGISTIC[21],
            split=lambda: splits.of_logistic(21),
            data=lambda: known.logistic_data(21),
        ),
        _of_suite(suite.find("eggbox"), quick=True),
        _of_suite(suite.find("two_widths_5_box"), quick=True),
        _of_suite(suite.find("ring_5_box")),
        _of_suite(suite.funnel(10), quick=True),
        _of_suite(suite.ar1(10)),
        _of_suite(suite.ar1(100), quick=True),
        _of_suite(suite.ar1(1000), minutes=True),
        _of_suite(suite.ar1(10_000), minutes=True),
        _skewed(10),
        _skewed(100, quick=True),
        _skewed(1000, minutes=True),
        _skewed(10_000, minutes=True),
        _covid("W=7", 36, *known.COVID["W=7"]),
        _covid("AR(2)", 208, *known.COVID["AR(2)"]),
    ]
    return {problem.name: problem for problem in found}
