"""A block for another process: what it needs to know, and the function that runs it there.

Models travel as recipes and everything else as arrays, among them the map of the run's
coordinates, so the process that runs a block shares nothing with the one that asked for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple
from uuid import uuid4

import cloudpickle
import jax
import jax.numpy as jnp
import numpy as np

from refti.models.model import Model
from refti.models.recipe import Recipe
from refti.paths.path import Leg
from refti.run.archive import from_bytes, to_bytes
from refti.run.counts import seen_by
from refti.run.elsewhere import Witnessed
from refti.run.problem import Problem
from refti.run.settings import Settings
from refti.sampling.block import Block, Points, Rung, run_block
from refti.sampling.computing import computing
from refti.sampling.metering import Meter


@dataclass(frozen=True)
class BlockRequest:
    """A block as bytes and numbers.

    Attributes:
        problem: the recipes of the models, and what the user gave of the path.
        task: the leg and the rung, and the map in whose coordinates they are.
        keys: the words of the random keys, one row for each move.
        iterations: for each key.
        adapting: whether step sizes are adapted.
        points: which of its points are wanted.
    """

    problem: bytes
    task: bytes
    keys: np.ndarray
    iterations: int
    adapting: bool
    points: Points = "all"


def request_block(
    problem: Problem,
    leg: Leg,
    rung: Rung,
    keys: tuple[jax.Array, ...],
    *,
    iterations: int,
    adapting: bool = False,
    points: Points = "all",
) -> BlockRequest:
    """The request for a block. Raises ModelError if a model has no recipe."""
    words = np.stack([np.asarray(jax.random.key_data(key)) for key in keys])
    task = to_bytes((leg, rung), problem)
    return BlockRequest(pack_problem(problem), task, words, iterations, adapting, points)


class BlockAnswer(NamedTuple):
    """A block that was asked for.

    Attributes:
        content: the block, to be read by `read_block`.
        witnessed: what the models rejected meanwhile, which the block does not tell.
    """

    content: bytes
    witnessed: Witnessed


def run_request(request: BlockRequest) -> BlockAnswer:
    """The block that was asked for."""
    made = _unpack_problem(request.problem)
    problem, before = made.problem, seen_by(made.problem)
    with computing():
        leg, rung = from_bytes(request.task, problem)
        keys = tuple(jax.random.wrap_key_data(jnp.asarray(row)) for row in request.keys)
        block = run_block(
            leg,
            rung,
            keys,
            iterations=request.iterations,
            meter=Meter(),
            adapting=request.adapting,
            points=request.points,
        )
        content = to_bytes(block, problem)
    return BlockAnswer(content, Witnessed(made.name, before, seen_by(problem)))


def read_block(content: bytes, problem: Problem) -> Block:
    """The block that another process sent back."""
    block = from_bytes(content, problem)
    assert isinstance(block, Block)
    return block


def pack_problem(problem: Problem) -> bytes:
    """The recipes of a problem's models. Raises ModelError if one has none."""
    stations = [_pack_station(station) for station in problem.settings.stations]
    models = [model.require_recipe().to_bytes() for model in problem.given]
    return cloudpickle.dumps((problem.kind, models, stations))


class _Made(NamedTuple):
    """A problem as it was made in this process, and a name that no other has."""

    problem: Problem
    name: str


@lru_cache(maxsize=8)
def _unpack_problem(packed: bytes) -> _Made:
    """The problem, made once in a process; of the settings only what the densities need."""
    kind, models, stations = cloudpickle.loads(packed)
    made = tuple(Recipe.from_bytes(sent).build() for sent in models)
    settings = Settings(reference=[_unpack_station(station) for station in stations])
    return _Made(Problem(kind, made, settings), uuid4().hex)


def _pack_station(station: Any) -> tuple[str, Any]:
    if isinstance(station, Model):
        return "recipe", station.require_recipe().to_bytes()
    return "as it is", station


def _unpack_station(packed: tuple[str, Any]) -> Any:
    kind, content = packed
    return Recipe.from_bytes(content).build() if kind == "recipe" else content
