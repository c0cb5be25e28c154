"""Calls of a user's function of NumPy values, point by point or many at once; no JAX in here.

Worker processes import this file and little else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from refti.errors import ModelError

Style = Literal["vector", "dictionary", "keywords"]
Batch = Mapping[str, np.ndarray]
"""Values by name, each [n, *shape]; a vector goes by the name x."""


@dataclass(frozen=True)
class Answers:
    """The function's values [n], NaN where it raised, and what it said at those points."""

    values: np.ndarray
    messages: Mapping[int, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Call:
    """A function and how it wants its arguments.

    Attributes:
        function: the user's.
        role: what it is called in messages.
        style: one vector, one dictionary, or keyword arguments.
        vectorized: whether it takes a leading axis of points.
        forgiving: whether what is no number counts as if the function had raised.
    """

    function: Callable[..., Any]
    role: str
    style: Style
    vectorized: bool
    forgiving: bool = False

    def __call__(self, batch: Batch) -> Answers:
        """The answers at all points of a batch."""
        count = size_of(batch)
        if not self.vectorized:
            return join_answers([self._call_one(batch, index) for index in range(count)])
        try:
            return Answers(self._check(self.raw(copy_batch(batch)), count))
        except (Exception, SystemExit) as error:
            if self._is_raised(error):
                raise
            if count == 1:
                return Answers(np.full(1, np.nan), {0: describe_error(error)})
            # One bad point fails them all, so each is asked by itself.
            return join_answers(
                [self(slice_batch(batch, index, index + 1)) for index in range(count)]
            )

    def raw(self, arguments: Mapping[str, Any]) -> Any:
        """What the function returns, whatever that is."""
        if self.style == "vector":
            return self.function(arguments["x"])
        if self.style == "keywords":
            return self.function(**arguments)
        return self.function(dict(arguments))

    def _call_one(self, batch: Batch, index: int) -> Answers:
        try:
            value = self.raw({name: _copy_value(values[index]) for name, values in batch.items()})
            return Answers(self._check(value, 1))
        except (Exception, SystemExit) as error:
            if self._is_raised(error):
                raise
            return Answers(np.full(1, np.nan), {0: describe_error(error)})

    def _is_raised(self, error: BaseException) -> bool:
        """Whether an error is the user's to mend, now; once a run goes on it must not cost that."""
        return isinstance(error, ModelError) and not self.forgiving

    def _check(self, value: Any, count: int) -> np.ndarray:
        """The returned numbers as float64[n]. Raises ModelError if they are something else."""
        wanted = f"an array of {count} numbers, one for each point" if self.vectorized else _ONE
        try:
            array = np.asarray(value)
        except Exception as error:
            raise ModelError(
                f"{self.role} must return {wanted}; got {type(value).__name__}."
            ) from error
        if array.dtype.kind not in "fiu":
            got = array.dtype.name if isinstance(value, np.ndarray) else type(value).__name__
            raise ModelError(f"{self.role} must return {wanted}, real; got {got}.")
        shapes = ((count,),) if self.vectorized else ((), (1,))
        if array.shape not in shapes:
            advice = "" if self.vectorized else " Sum over the observations with np.sum."
            raise ModelError(
                f"{self.role} must return {wanted}; got the shape {array.shape}.{advice}"
            )
        return array.astype(np.float64).reshape(count)


def size_of(batch: Batch) -> int:
    """How many points a batch has."""
    return len(next(iter(batch.values())))


def slice_batch(batch: Batch, start: int, stop: int) -> dict[str, np.ndarray]:
    """Some points of a batch."""
    return {name: values[start:stop] for name, values in batch.items()}


def copy_batch(batch: Batch) -> dict[str, np.ndarray]:
    """A batch of its own, which a function may do with as it likes."""
    return {name: np.array(values, dtype=np.float64) for name, values in batch.items()}


def join_answers(parts: list[Answers]) -> Answers:
    """The answers of several batches, one after the other."""
    messages, done = {}, 0
    for answers in parts:
        messages.update({done + index: text for index, text in answers.messages.items()})
        done += len(answers.values)
    return Answers(np.concatenate([answers.values for answers in parts]), messages)


def describe_error(error: BaseException) -> str:
    """An exception in one line."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__


def _copy_value(value: Any) -> Any:
    """A copy, so that a function that writes to its input changes nothing of ours."""
    return np.float64(value) if np.ndim(value) == 0 else np.array(value, dtype=np.float64)


_ONE = "one number"
