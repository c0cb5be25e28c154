"""Task: a call that any process can make, and what came of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Task:
    """A call of a function with plain arguments.

    A task may be begun several times, at worst twice at once, when workers are lost: its function
    must give the same whenever it is called, and leave files whole or not at all.

    Attributes:
        name: what it is called in messages.
        function: of a module, so that another process can find it.
        arguments: for the function, by place.
        is_done: whether what it would leave is there already; asked just before it is sent.
    """

    name: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...] = ()
    is_done: Callable[[], bool] | None = None


@dataclass(frozen=True)
class Outcome:
    """What came of a task.

    Attributes:
        task: the task.
        value: what its function returned; None if it failed, or was done before.
        error: why it failed; None if it did not.
        was_done: whether it was found done, and not sent.
    """

    task: Task
    value: Any = None
    error: BaseException | None = None
    was_done: bool = False


@dataclass(frozen=True)
class Spread:
    """What it cost to spread tasks over workers, and how much was done twice.

    Attributes:
        tasks: those that came back.
        running: seconds in the functions of tasks, summed over workers.
        waiting: seconds that workers stood between the end of one task and the start of the next.
        packing: seconds in which the supervisor packed arguments.
        lost: starts of tasks that came to nothing, since their workers were lost.
        megabytes: the most memory that a worker had.
    """

    tasks: int = 0
    running: float = 0.0
    waiting: float = 0.0
    packing: float = 0.0
    lost: int = 0
    megabytes: float = 0.0

    @property
    def share_outside(self) -> float:
        """The share of the workers' seconds that were not spent in tasks; 0 before any."""
        total = self.running + self.waiting
        return self.waiting / total if total > 0 else 0.0
