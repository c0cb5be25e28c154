"""Results: Evidence, a log evidence with its error and its verdict, and LogRatio of two models."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, Self

from refti.checks.check import Check
from refti.checks.verdict import Verdict, verdict_of
from refti.draws.cost import Cost
from refti.draws.draws import Draws
from refti.errors import NotTrustedError, SettingsError
from refti.estimators import Estimate
from refti.results.html import Checks, result_html
from refti.results.inference_data import to_inference_data
from refti.results.late import made_late, no_dataset
from refti.results.rungs import RungSummary
from refti.results.saving import save_result
from refti.results.text import plus_minus, search_line

if TYPE_CHECKING:
    import xarray


@made_late("posterior", "groups", "reference")
@dataclass(frozen=True, eq=False)
class Result:
    """What Evidence and LogRatio have in common; `value` is their number, in nats.

    Attributes:
        value: the estimate of the estimator asked for.
        error: its standard error.
        estimates: every estimator's value and error.
        checks: the reasons to trust it or not.
        draws: lambda and delta of every leg, from which all estimates follow.
        posterior: draws of the posterior, by the user's names, constrained.
        cost: evaluations and seconds.
        settings: what was asked for, as plain values.
        found: what the run found and chose, as plain values.
        rungs: a summary of every rung.
        groups: what is known besides the posterior, by ArviZ's names: sample_stats, and
            log_likelihood and observed_data if the model's language gives them.
        reference: draws of the reference, by the user's names, for figures; none if the path
            starts from a density that cannot be sampled exactly.
    """

    value: float
    error: float
    estimates: Mapping[str, Estimate]
    checks: tuple[Check, ...]
    draws: tuple[Draws, ...]
    posterior: xarray.Dataset
    cost: Cost
    settings: Mapping[str, Any]
    found: Mapping[str, Any] = field(default_factory=dict)
    rungs: tuple[RungSummary, ...] = ()
    groups: Mapping[str, xarray.Dataset] = field(default_factory=dict)
    reference: xarray.Dataset = field(default_factory=no_dataset)

    def __post_init__(self) -> None:
        object.__setattr__(self, "checks", Checks(self.checks))

    @property
    def trusted(self) -> bool:
        """Whether every check holds, and there are any."""
        return len(self.checks) > 0 and all(check.ok for check in self.checks)

    @property
    def verdict(self) -> Verdict:
        """The verdict: trusted, or in which of three ways it is not."""
        return verdict_of(self.checks)

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """The interval that holds the true value with this probability."""
        if not 0 < level < 1:
            raise SettingsError(f"A level lies between 0 and 1; got {level!r}. Use 0.95.")
        half = NormalDist().inv_cdf(0.5 + level / 2) * self.error
        return self.value - half, self.value + half

    def require_trusted(self) -> Self:
        """The result itself. Raises NotTrustedError, with the reasons, if it is not trusted."""
        if not self.trusted:
            reasons = "; ".join(f"{c.name}: {c.advice}" for c in self.checks if not c.ok)
            raise NotTrustedError(f"This result cannot be trusted. {reasons}.", self)
        return self

    def to_inference_data(self) -> Any:
        """The draws as ArviZ takes them, with the names, dims and coords that the model gave.

        An `arviz.InferenceData`, or an xarray DataTree with ArviZ 1 and later: posterior (with
        deterministics), sample_stats, log_likelihood and observed_data, the latter where the model
        was written in PyMC or NumPyro.
        """
        return to_inference_data(self.posterior, self.groups)

    @property
    def datasets(self) -> dict[str, xarray.Dataset]:
        """All draws but those of the path, by the names of the files they are kept in."""
        return {"posterior": self.posterior, "reference": self.reference, **self.groups}

    def to_dict(self) -> dict[str, Any]:
        """Everything but the draws, as plain values."""
        estimates = {
            name: {**asdict(estimate), "error": estimate.error}
            for name, estimate in self.estimates.items()
        }
        return {
            "kind": type(self).__name__,
            "value": self.value,
            "error": self.error,
            "interval_95": self.interval(0.95),
            "trusted": self.trusted,
            "verdict": self.verdict.value,
            "estimates": estimates,
            "checks": [asdict(check) for check in self.checks],
            "cost": asdict(self.cost),
            "settings": dict(self.settings),
            "found": dict(self.found),
            "rungs": [asdict(rung) for rung in self.rungs],
        }

    def save(self, path: str | Path) -> None:
        """Writes the result to a new directory: result.json, draws.nc, posterior.nc and others.

        The JSON file comes last and holds the digests of all of them, so a result is there whole
        or not at all. `refti.load(path)` brings it back.
        """
        save_result(Path(path), self.to_dict(), self.draws, self.datasets)

    def __repr__(self) -> str:
        """The number, the verdict, and what it took, in two lines."""
        rungs = sum(leg.rungs for leg in self.draws)
        value = plus_minus(self.value, self.error, decimals=4)
        return (
            f"{type(self).__name__}({self._symbol} = {value}, {self.verdict.shown},\n"
            f"    {rungs} rungs, {self.cost.evaluations:,} evaluations, {self.cost.seconds:.1f} s)"
        )

    def _repr_html_(self) -> str:
        low, high = self.interval()
        rows = [
            (self._symbol, plus_minus(self.value, self.error, decimals=4)),
            ("95 % interval", f"{low:.4f} to {high:.4f}"),
            ("verdict", self.verdict.shown),
        ]
        searched = self.found.get("search") or {}
        return result_html(rows, Checks(self.checks), str(searched.get("sentence", "")))

    @property
    def _symbol(self) -> str:
        return "log z" if isinstance(self, Evidence) else "log ratio"

    def __str__(self) -> str:
        low, high = self.interval()
        name = self._symbol
        first = f"{name} = {plus_minus(self.value, self.error, decimals=4)}"
        lines = [f"{first}  (95 %: {low:.4f} to {high:.4f}), {self.verdict.shown}"]
        lines += search_line(self.found)
        lines += [f"  note: {note}" for note in self.found.get("notes", ())]
        return "\n".join(lines + [f"  {check}" for check in self.checks if not check.ok])


@dataclass(frozen=True, eq=False, repr=False)
class Evidence(Result):
    """The log evidence of a model."""

    @property
    def log_z(self) -> float:
        """The log evidence."""
        return self.value


@dataclass(frozen=True, eq=False, repr=False)
class LogRatio(Result):
    """The log ratio of two models' evidences, which says nothing about either alone."""

    @property
    def log_ratio(self) -> float:
        """The log Bayes factor of the first model over the second."""
        return self.value
