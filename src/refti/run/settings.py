"""Settings: what evidence() was asked for, checked together before any compute."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from refti.errors import LadderError, RefTIError, SettingsError
from refti.models.model import Model
from refti.paths import ladder as ladders
from refti.references.base import Reference
from refti.references.registry import FAMILIES
from refti.references.taylor import fault_of_order
from refti.sampling.kernels.base import KernelName

EstimatorName = Literal["mbar", "ti", "stepping_stone"]
PathName = Literal["referenced", "power"]
ReferenceLike = str | Reference | Sequence[str | int | Reference | Model]


@dataclass(frozen=True)
class Settings:
    """Everything that decides a run's numbers besides the model and the draws given."""

    reference: ReferenceLike
    path: str
    ladder: np.ndarray | None  # adapted to the path if None
    estimator: EstimatorName
    target_error: float
    seed: int
    chains: int
    warmup: int | None
    kept: int | None  # until the target error is reached if None
    kernel: KernelName
    max_seconds: float | None
    max_evaluations: int
    check_prior: bool

    @property
    def stations(self) -> tuple[str | int | Reference | Model, ...]:
        """The reference and what stands between it and the posterior."""
        if isinstance(self.reference, str | Reference):
            return (self.reference,)
        return tuple(self.reference)

    def record(self) -> dict[str, Any]:
        """The settings as plain values, for a file."""
        return {
            "reference": [_name(station) for station in self.stations],
            "path": self.path,
            "ladder": None if self.ladder is None else [float(lam) for lam in self.ladder],
            "estimator": self.estimator,
            "target_error": self.target_error,
            "seed": self.seed,
            "chains": self.chains,
            "warmup": self.warmup,
            "kept": self.kept,
            "kernel": self.kernel,
            "max_seconds": self.max_seconds,
            "max_evaluations": self.max_evaluations,
            "check_prior": self.check_prior,
        }


def checked(
    *,
    reference: ReferenceLike,
    path: str,
    ladder: Any,
    estimator: EstimatorName,
    target_error: float,
    seed: int,
    chains: int,
    warmup: int | None,
    kept: int | None,
    kernel: KernelName,
    max_seconds: float | None,
    max_evaluations: int,
    check_prior: bool = False,
) -> Settings:
    """The settings, or one error that names every fault."""
    faults: list[RefTIError] = []
    rungs: np.ndarray | None = None
    try:
        rungs = None if ladder is None else ladders.checked(ladder)
    except LadderError as error:
        faults.append(error)
    for name, value, choices in (
        ("path", path, get_args(PathName)),
        ("estimator", estimator, get_args(EstimatorName)),
        ("kernel", kernel, get_args(KernelName)),
    ):
        if value not in choices:
            faults.append(SettingsError(f"{name}= must be one of {choices}; got {value!r}."))
    for name, number, least in (
        ("seed", seed, 0),
        ("chains", chains, 2),
        ("warmup", warmup, 50),
        ("kept", kept, 20),
        ("max_evaluations", max_evaluations, 1),
    ):
        if number is None and name in ("warmup", "kept"):
            continue
        if not isinstance(number, int | np.integer) or isinstance(number, bool) or number < least:
            faults.append(
                SettingsError(
                    f"{name}= must be a whole number of at least {least}; got {number!r}."
                )
            )
    if isinstance(seed, int) and seed >= 2**63:
        faults.append(SettingsError(f"seed= must be below 2**63; got {seed}."))
    if not isinstance(target_error, int | float) or not 0 < target_error < np.inf:
        faults.append(SettingsError(f"target_error= must be positive; got {target_error!r}."))
    if max_seconds is not None and (
        not isinstance(max_seconds, int | float) or not max_seconds > 0
    ):
        faults.append(SettingsError(f"max_seconds= must be positive; got {max_seconds!r}."))
    faults += _reference_faults(reference)
    if faults:
        kind = type(faults[0]) if len({type(f) for f in faults}) == 1 else SettingsError
        raise kind("\n".join(str(fault) for fault in faults))
    return Settings(
        reference=reference,
        path=path,
        ladder=rungs,
        estimator=estimator,
        target_error=float(target_error),
        seed=int(seed),
        chains=int(chains),
        warmup=None if warmup is None else int(warmup),
        kept=None if kept is None else int(kept),
        kernel=kernel,
        max_seconds=None if max_seconds is None else float(max_seconds),
        max_evaluations=int(max_evaluations),
        check_prior=bool(check_prior),
    )


def _reference_faults(reference: Any) -> list[RefTIError]:
    families = ("auto", *FAMILIES)
    if isinstance(reference, str):
        if reference in families:
            return []
        return [SettingsError(f"reference= must be one of {families}; got {reference!r}.")]
    if isinstance(reference, Reference):
        return []
    if not isinstance(reference, Sequence) or len(reference) == 0:
        return [
            SettingsError(
                f"reference= must be one of {families}, a Reference, or a list that begins with "
                f"one of them; got {reference!r}."
            )
        ]
    first, *rest = reference
    faults: list[RefTIError] = (
        _reference_faults(first)
        if isinstance(first, str | Reference)
        else [SettingsError(f"A telescopic list must begin with a reference; got {first!r}.")]
    )
    faults += [
        SettingsError(
            "A telescopic list goes on with orders of Taylor expansion (4, 6, 8, 10) or "
            f"refti.Model densities; got {station!r}."
        )
        for station in rest
        if not isinstance(station, int | Model)
    ]
    orders = [fault_of_order(station) for station in rest if isinstance(station, int)]
    return faults + [SettingsError(fault) for fault in orders if fault is not None]


def _name(station: str | int | Reference | Model) -> str:
    if isinstance(station, int):
        return f"Taylor order {station}"
    return station if isinstance(station, str) else type(station).__name__
