"""Elsewhere: what models rejected in other processes, as the blocks that come back tell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from threading import Lock

from refti.models.model import Model
from refti.models.rejections import Rejections

Seen = tuple[Rejections | None, ...]
"""What each model of a problem has rejected."""


@dataclass(frozen=True)
class Witnessed:
    """What the models of one process had rejected before and after a block.

    Attributes:
        process: tells the process, and its copy of the models, from others.
        before: of each model, when the block began.
        after: of each model, when it ended.
    """

    process: str
    before: Seen
    after: Seen


class Identity:
    """Models as a key: the same objects, which are kept so that no others take their ids."""

    def __init__(self, models: Sequence[Model]) -> None:
        self._models = tuple(models)

    def __hash__(self) -> int:
        return hash(tuple(map(id, self._models)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Identity) or len(self._models) != len(other._models):
            return False
        return all(a is b for a, b in zip(self._models, other._models, strict=True))


class Elsewhere:
    """Adds up what the copies of models in other processes have rejected.

    A process counts for all its blocks together, some of which may run at once. So the numbers of
    single blocks would overlap, and what counts is the way from its least count to its greatest.
    """

    def __init__(self) -> None:
        self._seen: dict[tuple[Identity, str], tuple[Seen, Seen]] = {}
        self._lock = Lock()

    def hear(self, models: Sequence[Model], told: Witnessed) -> None:
        """Takes in what came back with a block of these models; from any thread."""
        key = Identity(models), told.process
        with self._lock:
            least, most = self._seen.get(key, (told.before, told.after))
            self._seen[key] = (
                tuple(map(_less, least, told.before)),
                tuple(map(_more, most, told.after)),
            )

    def rejections(self, models: Sequence[Model]) -> Seen:
        """What these models have rejected in other processes, as far as it is known."""
        identity = Identity(models)
        with self._lock:
            found = [pair for (key, _), pair in self._seen.items() if key == identity]
        total: Seen = (None,) * len(models)
        for before, after in found:
            new = (None if a is None else a.since(b) for a, b in zip(after, before, strict=True))
            total = tuple(map(together, total, new))
        return total


def together(one: Rejections | None, other: Rejections | None) -> Rejections | None:
    """Both counts as one, with the words of the first."""
    if one is None or other is None:
        return one or other
    return replace(one, count=one.count + other.count, stopped=one.stopped + other.stopped)


def _less(one: Rejections | None, other: Rejections | None) -> Rejections | None:
    if one is None or other is None:
        return None
    return one if one.count <= other.count else other


def _more(one: Rejections | None, other: Rejections | None) -> Rejections | None:
    if one is None or other is None:
        return one or other
    return one if one.count >= other.count else other
