"""Engine: the means of a run, whatever the leg and the rung: how chains move, and who is told."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

import jax
import numpy as np

from refti.executors.cores import cores
from refti.progress import Progress, silent
from refti.sampling.computing import computing
from refti.sampling.kernels.base import Kernel
from refti.sampling.kernels.registry import KERNELS
from refti.sampling.metering import Meter
from refti.sampling.streams import GeneratorStream, KeyStream, generator_of, key_of

Item = TypeVar("Item")
Done = TypeVar("Done")


@dataclass(frozen=True, eq=False)
class Engine:
    """What every block of sampling has in common.

    Attributes:
        chains: Markov chains a rung.
        kernel: how a chain moves.
        block_length: iterations of one call: one length for all, so that one program serves.
        seed: from which every part makes its own randomness.
        meter: where evaluations are counted, and held to the budget.
        report: who is told how far the run is.
        pool: threads for rungs that can run side by side.
    """

    chains: int
    kernel: Kernel
    block_length: int
    seed: int
    meter: Meter
    report: Progress
    pool: ThreadPoolExecutor

    def key(self, stream: KeyStream, *identity: int) -> jax.Array:
        """JAX's randomness for a part of the run."""
        return key_of(self.seed, stream, *identity)

    def generator(self, stream: GeneratorStream, *identity: int) -> np.random.Generator:
        """NumPy's randomness for a part of the run."""
        return generator_of(self.seed, stream, *identity)

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
def open_engine(
    *,
    chains: int,
    kernel: str,
    block_length: int,
    seed: int,
    meter: Meter,
    report: Progress = silent,
    side_by_side: bool = True,
) -> Iterator[Engine]:
    """An engine with a thread a core, or one where rungs may not run side by side."""
    with ThreadPoolExecutor(cores() if side_by_side else 1) as pool:
        yield Engine(chains, KERNELS[kernel], block_length, seed, meter, report, pool)
