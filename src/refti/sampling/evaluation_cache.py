"""Evaluation cache: log densities that a run has evaluated, so that none is evaluated twice."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from threading import Lock
from typing import NamedTuple

import numpy as np

from refti.sampling.tuning import TUNING


class Evaluated(NamedTuple):
    """A density's values at points x[n, dim]."""

    density: object
    x: np.ndarray
    values: np.ndarray


class EvaluationCache:
    """Log densities by density and point, the most recent ones.

    Args:
        most: how many are remembered.
        before: those of the same run before it was cut short, which it pays for again but need not
            evaluate, by the id of the density and the bytes of the point.
        note: told of all points that were evaluated now and not before.
    """

    def __init__(
        self,
        most: int = TUNING.remembered_values,
        *,
        before: Mapping[tuple[int, bytes], float] | None = None,
        note: Callable[[Evaluated], None] | None = None,
    ) -> None:
        self._most = most
        self._values: dict[tuple[int, bytes], float] = {}
        self._before = {} if before is None else before
        self._note = note
        self._lock = Lock()  # rungs run in threads, and one may forget what another looks up

    def look_up(self, density: object, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Which of the points x[n, dim] are known, and the values [n] there; 0 elsewhere."""
        with self._lock:
            return _look_up(self._values, density, x)

    def look_up_before(self, density: object, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The same of the run before it was cut short."""
        return _look_up(self._before, density, x)

    def keep(self, density: object, x: np.ndarray, values: np.ndarray) -> None:
        """Adds values, and forgets the oldest where there are too many."""
        new = {(id(density), row.tobytes()): float(v) for row, v in zip(x, values, strict=True)}
        with self._lock:
            self._values.update(new)
            while len(self._values) > self._most:
                del self._values[next(iter(self._values))]
        if self._note is not None:
            known, _ = self.look_up_before(density, x)
            self._note(Evaluated(density, x[~known], values[~known]))


class RecordingCache(EvaluationCache):
    """A cache of a part of a run: what the part adds to the whole's stands in `kept`."""

    def __init__(self, whole: EvaluationCache) -> None:
        super().__init__()
        self._whole = whole
        self.kept: list[Evaluated] = []

    def look_up(self, density: object, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """As the whole knows them."""
        return self._whole.look_up(density, x)

    def look_up_before(self, density: object, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """As the whole knows them."""
        return self._whole.look_up_before(density, x)

    def keep(self, density: object, x: np.ndarray, values: np.ndarray) -> None:
        """Adds values to the whole."""
        self._whole.keep(density, x, values)
        self.kept.append(Evaluated(density, x, values))


def _look_up(
    values: Mapping[tuple[int, bytes], float], density: object, x: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    found = [values.get((id(density), row.tobytes())) for row in x]
    known = np.array([value is not None for value in found], dtype=bool)
    return known, np.array([0.0 if value is None else value for value in found])
