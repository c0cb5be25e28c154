"""Requests: a block by its name, and all that another process needs to compute it; no code."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from refti.errors import StoreError
from refti.paths.path import Leg
from refti.run.archive import from_bytes, problem_of, to_bytes
from refti.run.problem import Problem
from refti.sampling.block import Points, Rung
from refti.sampling.streams import key_name


class Request(NamedTuple):
    """A block that is wanted.

    Attributes:
        leg: on which it is.
        rung: whose chains move.
        keys: the randomness of each move.
        settings: the other arguments of `run_block`.
        problem: in the coordinates of the run.
    """

    leg: Leg
    rung: Rung
    keys: tuple[jax.Array, ...]
    settings: dict[str, Any]
    problem: Problem

    @property
    def name(self) -> str:
        """By which the block is kept."""
        return block_name(self.rung, self.keys, **self.settings)


def block_name(
    rung: Rung, keys: Iterable[jax.Array], iterations: int, adapting: bool, points: Points
) -> str:
    """What tells a block from all others: everything that it is made from."""
    total = hashlib.sha256()
    for key in keys:
        total.update(key_name(key).encode())
    settings = (rung.lam, rung.kernel, rung.target_acceptance, rung.moves, rung.most_steps)
    total.update(
        repr((*settings, rung.leaping, rung.lengthening, iterations, adapting, points)).encode()
    )
    for array in (*jax.tree.leaves(rung.whitening), *rung.state, *(rung.step_size or ())):
        total.update(np.ascontiguousarray(array).tobytes())
    return f"block {total.hexdigest()[:32]}"


def write_request(request: Request) -> bytes:
    """The request as an .npz; densities of the problem stand in it by their places."""
    words = np.stack([np.asarray(jax.random.key_data(key)) for key in request.keys])
    return to_bytes((request.leg, request.rung, words, request.settings), request.problem)


def read_request(content: bytes, problem: Problem) -> Request:
    """The request of an .npz, whose densities are those of this problem. Raises StoreError."""
    found = from_bytes(content, problem)
    try:
        leg, rung, words, settings = found
        keys = tuple(jax.random.wrap_key_data(jnp.asarray(row)) for row in words)
        return Request(leg, rung, keys, settings, problem_of(content, problem))
    except (TypeError, ValueError) as error:
        raise StoreError(f"Expected a block that is wanted; got {error}.") from error
