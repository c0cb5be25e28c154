"""Engine: the means of a run, whatever the leg and the rung: how chains move, and who is told."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeVar

import jax
import numpy as np

from refti.executors.cores import cores
from refti.paths.path import Leg
from refti.progress import Progress, silent
from refti.sampling.block import Block, Points, Rung
from refti.sampling.computing import computing
from refti.sampling.kernels.base import Kernel
from refti.sampling.kernels.registry import KERNELS
from refti.sampling.memory import Forgetful, Memory
from refti.sampling.metering import Meter
from refti.sampling.streams import GeneratorStream, KeyStream, generator_of, key_of

SIDE_BY_SIDE = "refti rung"  # what the names of threads begin with in which rungs run
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
        memory: what was computed before.
    """

    chains: int
    kernel: Kernel
    block_length: int
    seed: int
    meter: Meter
    report: Progress
    pool: ThreadPoolExecutor
    memory: Memory = field(default_factory=Forgetful)

    def run_block(
        self,
        leg: Leg,
        rung: Rung,
        keys: tuple[jax.Array, ...],
        *,
        adapting: bool = False,
        points: Points = "all",
    ) -> Block:
        """The rung after a block, which is run only if it was not run before."""
        return self.memory.run_block(
            leg,
            rung,
            keys,
            iterations=self.block_length,
            meter=self.meter,
            adapting=adapting,
            points=points,
        )

    def recall(self, name: str, compute: Callable[[], Done]) -> Done:
        """A value of this run, which is computed only if it was not before.

        Args:
            name: that no other value of the run has.
            compute: what gives the value, with nothing else running beside it.
        """
        return self.memory.recall(name, compute, self.meter)

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
        if len(todo) == 1:
            return [work(todo[0])]
        threads = min(len(todo), self.memory.workers)
        if threads <= self.pool._max_workers:
            return list(self.pool.map(in_thread, todo))
        # Processes that help may come at any time, and a thread waits for each block they make.
        with ThreadPoolExecutor(threads, thread_name_prefix=SIDE_BY_SIDE) as larger:
            return list(larger.map(in_thread, todo))


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
    memory: Memory | None = None,
) -> Iterator[Engine]:
    """An engine with a thread for each core it may use; with one if rungs may not run side by side.

    Where blocks may run elsewhere there are as many threads as that, to wait for them.
    """
    memory = Forgetful() if memory is None else memory
    threads = max(cores() if side_by_side else 1, memory.workers)
    with ThreadPoolExecutor(threads, thread_name_prefix=SIDE_BY_SIDE) as pool:
        yield Engine(chains, KERNELS[kernel], block_length, seed, meter, report, pool, memory)
