"""Estimators: from the draws of a leg to the log ratio of its ends, each with its error."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from refti.draws.draws import Draws
from refti.estimators.estimate import Estimate, add
from refti.estimators.mbar import bridge, influence, mbar
from refti.estimators.stepping_stone import stepping_stone
from refti.estimators.ti import thermodynamic_integration

__all__ = [
    "Estimate",
    "add",
    "bridge",
    "estimate_path",
    "influence",
    "mbar",
    "stepping_stone",
    "thermodynamic_integration",
]


def estimate_path(legs: Sequence[Draws], known: Estimate) -> dict[str, Estimate]:
    """Every estimator's value and error for the legs of a path, added to what is known."""
    estimators: dict[str, Callable[[Draws], Estimate]] = {
        "mbar": mbar,
        "ti": thermodynamic_integration,
        "ti_trapezoid": partial(thermodynamic_integration, rule="trapezoid"),
        "ti_corrected": partial(thermodynamic_integration, rule="corrected"),
        "stepping_stone": stepping_stone,
        "stepping_stone_reverse": partial(stepping_stone, direction="reverse"),
    }
    return {
        name: add([known, *(estimator(leg) for leg in legs)])
        for name, estimator in estimators.items()
    }
