"""Work: where an example keeps what it computes, how much it computes, and whom it tells."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import refti
from refti.studies import Progress


@dataclass(frozen=True)
class Work:
    """The circumstances of an example.

    Attributes:
        folder: where runs are kept; a run that is there is read instead of sampled.
        quick: whether a short version is asked for.
        seed: what all randomness comes from.
        report: told of (stage, done, total) as work goes on.
    """

    folder: Path
    quick: bool = False
    seed: int = 1
    report: Progress = lambda stage, done, total: None

    def within(self, name: str) -> Work:
        """The same work in a folder below."""
        return replace(self, folder=self.folder / name)

    def evidence(self, name: str, model: refti.Model, **settings: Any) -> refti.Evidence:
        """The evidence of a model, kept under a name."""
        result = refti.evidence(
            model,
            store=self.folder / "runs" / name,
            progress=self._told(name),
            **{"seed": self.seed} | settings,
        )
        _require_end(result)
        return result

    def log_bayes_factor(
        self, name: str, first: refti.Model, second: refti.Model, **settings: Any
    ) -> refti.LogRatio:
        """The log Bayes factor of two models by the path between them, kept under a name."""
        result = refti.log_bayes_factor(
            first,
            second,
            store=self.folder / "runs" / name,
            progress=self._told(name),
            **{"seed": self.seed} | settings,
        )
        _require_end(result)
        return result

    def _told(self, name: str) -> Progress:
        return lambda stage, done, total: self.report(f"{name}: {stage}", done, total)


def _require_end(result: refti.Evidence | refti.LogRatio) -> None:
    """Raises KeyboardInterrupt if the run was interrupted: the user wants all of it to end."""
    if result.found.get("ended") == "interrupted":
        raise KeyboardInterrupt
