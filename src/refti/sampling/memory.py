"""Memory: what a run has computed before, so that one that was cut short goes on where it was.

A run is a function of its problem and its seed: made again, it asks for the same blocks and values
by the same names. A memory that kept them gives them back instead of computing them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

import jax

from refti.paths.path import Leg
from refti.sampling.block import Block, Points, Rung, run_block
from refti.sampling.evaluation_cache import EvaluationCache
from refti.sampling.metering import Meter

Value = TypeVar("Value")


class RunBlock(Protocol):
    """Whatever runs blocks, here or elsewhere, as `run_block` does."""

    def __call__(
        self,
        leg: Leg,
        rung: Rung,
        keys: tuple[jax.Array, ...],
        *,
        iterations: int,
        meter: Meter,
        adapting: bool,
        points: Points,
    ) -> Block:
        """The block; what it cost counts."""
        ...


class Memory(Protocol):
    """Where blocks and other values of a run are kept.

    Attributes:
        run_block: gives a block, which is run only if it is not known; its cost counts either way.
        workers: how many blocks run at once elsewhere; 0 if none do.
    """

    @property
    def run_block(self) -> RunBlock: ...

    @property
    def workers(self) -> int: ...

    def evaluations(self) -> EvaluationCache:
        """The cache of evaluated points that the run begins with."""
        ...

    def log(self, event: str, **values: Any) -> None:
        """Writes down that something happened."""
        ...

    def recall(self, name: str, compute: Callable[[], Value], meter: Meter) -> Value:
        """The value of this name, computed only if it is not known; its cost counts either way."""
        ...


class Forgetful:
    """A memory that keeps nothing."""

    run_block: RunBlock = staticmethod(run_block)
    workers: int = 0

    def evaluations(self) -> EvaluationCache:
        """An empty cache."""
        return EvaluationCache()

    def log(self, event: str, **values: Any) -> None:
        """Nothing is written."""
        del event, values

    def recall(self, name: str, compute: Callable[[], Value], meter: Meter) -> Value:
        """The value, computed."""
        del name, meter
        return compute()
