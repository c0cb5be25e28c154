"""Pools: what a supervisor asks of the workers it sends tasks to, and the plainest of them."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from typing import Any, Protocol


class Pool(Protocol):
    """Workers that calls are sent to."""

    @property
    def workers(self) -> int:
        """How many calls run at the same time."""
        ...

    @property
    def marks(self) -> bool:
        """Whether a file that a worker makes can be seen here."""
        ...

    @property
    def mends_itself(self) -> bool:
        """Whether lost workers are replaced, so that lost calls can be sent again."""
        ...

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Sends a call."""
        ...

    def is_loss(self, error: BaseException) -> bool:
        """Whether an error means that the worker was lost, not that the call failed."""
        ...

    def close(self, *, at_once: bool = False) -> None:
        """Lets the workers go, in the middle of their calls if it must be at once."""
        ...


class UsersPool:
    """An executor that the user made, and closes: any with the submit() of concurrent.futures."""

    marks = False
    mends_itself = False

    def __init__(self, executor: Executor) -> None:
        self._executor = executor

    @property
    def workers(self) -> int:
        """As many as the executor says it has, by the names that the known ones have for it."""
        for name in ("num_workers", "_max_workers"):
            count = getattr(self._executor, name, None)
            if isinstance(count, int) and count > 0:
                return count
        return 1

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Sends a call."""
        return self._executor.submit(function, *arguments)

    def is_loss(self, error: BaseException) -> bool:
        """Whether the executor is broken, or gave the call up."""
        return isinstance(error, BrokenExecutor | CancelledError)

    def close(self, *, at_once: bool = False) -> None:
        """Does nothing: the executor is the user's."""
        del at_once
