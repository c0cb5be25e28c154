"""Engine: how chains are run, whatever the leg and the rung, and what it may cost."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from refti.sampling.computing import computing
from refti.sampling.kernels.base import KernelName
from refti.sampling.metering import Meter

Item = TypeVar("Item")
Done = TypeVar("Done")


@dataclass(frozen=True, eq=False)
class Engine:
    """What every stretch of sampling has in common.

    Attributes:
        chains: Markov chains a rung.
        kernel: how a chain moves.
        stretch: iterations of one call: one length for all, so that one program serves.
        seed: from which every part makes its own randomness.
        meter: where evaluations are counted, and held to the budget.
        pool: threads for rungs that can run side by side.
    """

    chains: int
    kernel: KernelName
    stretch: int
    seed: int
    meter: Meter
    pool: ThreadPoolExecutor

    def key(self, *identity: int) -> jax.Array:
        """The random key of a part of the run, from the seed and what the part is."""
        words = np.random.SeedSequence((self.seed, *identity)).generate_state(2)
        return jax.random.wrap_key_data(jnp.asarray(words, jnp.uint32))

    def generator(self, *identity: int) -> np.random.Generator:
        """NumPy's randomness for a part of the run."""
        return np.random.default_rng((self.seed, *identity))

    def each(self, work: Callable[[Item], Done], items: Iterable[Item]) -> list[Done]:
        """What the work gives for every item, on all cores.

        Threads that need a program not yet compiled would each compile it: whoever calls this has
        run the work once before.
        """

        def in_thread(item: Item) -> Done:
            with computing():  # 64 bits are a setting of each thread
                return work(item)

        todo = list(items)
        return [work(todo[0])] if len(todo) == 1 else list(self.pool.map(in_thread, todo))


@contextmanager
def engine(
    *,
    chains: int,
    kernel: KernelName,
    stretch: int,
    seed: int,
    meter: Meter,
    side_by_side: bool = True,
) -> Iterator[Engine]:
    """An engine with a thread a core, or one where rungs may not run side by side."""
    with ThreadPoolExecutor(os.cpu_count() if side_by_side else 1) as pool:
        yield Engine(chains, kernel, stretch, seed, meter, pool)
