"""Results: Evidence, a log evidence with its error and its verdict, and LogRatio of two models."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import NormalDist
from typing import Any, Self

import xarray

from refti.checks.check import Check
from refti.checks.verdict import Verdict, verdict_of
from refti.draws.cost import Cost
from refti.draws.draws import Draws
from refti.errors import NotTrustedError, SettingsError, StoreError
from refti.estimators import Estimate
from refti.results.files import read_json, read_netcdf, write_json, write_netcdf
from refti.results.html import Checks, result_html
from refti.results.old_files import found_in, settings_in
from refti.results.rungs import RungSummary, read_rung
from refti.results.text import plus_minus, search_line

FORMAT = 1  # of the files written by save()


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
        found: what the run found and chose by itself, as plain values.
        rungs: what became of every rung.
        reference: draws of the reference, by the user's names, for figures; none where the path
            starts from a density that cannot be drawn exactly.
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
    reference: xarray.Dataset = field(default_factory=xarray.Dataset)

    def __post_init__(self) -> None:
        object.__setattr__(self, "checks", Checks(self.checks))

    @property
    def trusted(self) -> bool:
        """Whether every check holds."""
        return all(check.ok for check in self.checks)

    @property
    def verdict(self) -> Verdict:
        """What is to be thought of it: trusted, or in which of three ways it is not."""
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
            raise NotTrustedError(f"The result is not to be trusted. {reasons}.", self)
        return self

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
        """Writes the result to a new directory: result.json, draws.nc, posterior.nc, reference.nc.

        The JSON file comes last and holds the digests of the others, so a result is there whole
        or not at all.
        """
        folder = Path(path)
        if (folder / "result.json").exists():
            raise StoreError(f"{folder} holds a result already. Choose another directory.")
        folder.mkdir(parents=True, exist_ok=True)
        legs = {
            name: values
            for i, leg in enumerate(self.draws)
            for name, values in (
                (f"lambdas_{i}", (f"rung_{i}", leg.lambdas)),
                (f"delta_{i}", ((f"rung_{i}", "chain", "draw"), leg.delta)),
            )
        }
        digests = {
            "draws.nc": write_netcdf(folder / "draws.nc", xarray.Dataset(legs)),
            "posterior.nc": write_netcdf(folder / "posterior.nc", self.posterior),
            "reference.nc": write_netcdf(folder / "reference.nc", self.reference),
        }
        record = {**self.to_dict(), "format": FORMAT, "legs": len(self.draws), "sha256": digests}
        write_json(folder / "result.json", record)

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


def load(path: str | Path) -> Evidence | LogRatio:
    """The result that save() or store= left in a directory."""
    folder = Path(path)
    if not (folder / "result.json").exists():
        raise StoreError(
            f"{folder} holds no finished result (result.json). Give a directory that "
            "result.save() or evidence(store=) wrote."
        )
    record = read_json(folder / "result.json")
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        raise StoreError(
            f"{folder} holds a result.json that is not of format {FORMAT}, the one read here."
        )
    try:
        return _read(record, folder)
    except (KeyError, TypeError, ValueError) as error:
        raise StoreError(
            f"{folder} holds a damaged result.json ({type(error).__name__}: {error}). Make the run "
            "again in a new directory."
        ) from error


def _read(record: Mapping[str, Any], folder: Path) -> Evidence | LogRatio:
    draws = read_netcdf(folder / "draws.nc", record["sha256"]["draws.nc"])
    kind = Evidence if record["kind"] == "Evidence" else LogRatio
    return kind(
        value=float(record["value"]),
        error=float(record["error"]),
        estimates={name: _read_estimate(parts) for name, parts in record["estimates"].items()},
        checks=tuple(_read_check(parts) for parts in record["checks"]),
        draws=tuple(
            Draws(draws[f"lambdas_{i}"].values, draws[f"delta_{i}"].values)
            for i in range(record["legs"])
        ),
        posterior=read_netcdf(folder / "posterior.nc", record["sha256"]["posterior.nc"]),
        cost=Cost(**record["cost"]),
        settings=settings_in(record),
        found=found_in(record),
        rungs=tuple(read_rung(parts) for parts in record.get("rungs", ())),
        reference=_read_reference(record, folder),
    )


def _read_reference(record: Mapping[str, Any], folder: Path) -> xarray.Dataset:
    # Results that were saved before it was kept have none.
    digest = record["sha256"].get("reference.nc")
    return xarray.Dataset() if digest is None else read_netcdf(folder / "reference.nc", digest)


def _read_estimate(parts: Mapping[str, Any]) -> Estimate:
    names = ("value", "monte_carlo_error", "quadrature_error")
    return Estimate(*(float(parts[name]) for name in names))


def _read_check(parts: Mapping[str, Any]) -> Check:
    numbers = {name: float(parts[name]) for name in ("value", "threshold")}
    # Files that were written before this was a field of a check have none.
    mended_by_draws = parts.get("mended_by_draws", False)
    return Check(**{**parts, **numbers, "mended_by_draws": mended_by_draws})
