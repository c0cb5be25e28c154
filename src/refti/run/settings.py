"""Settings: what evidence() was asked for, checked together before any compute."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from numbers import Real
from typing import Any, Literal, get_args

import numpy as np

from refti.errors import LadderError, RefTIError, SettingsError
from refti.models.model import Model
from refti.paths import ladder as ladders
from refti.references.base import Reference
from refti.references.registry import FAMILIES
from refti.references.taylor import fault_of_order
from refti.sampling.kernels.registry import KERNELS
from refti.search.searched import Effort

EstimatorName = Literal["mbar", "ti", "stepping_stone"]
PathName = Literal["referenced", "power"]
Station = str | int | Reference | Model
ReferenceLike = str | Reference | Sequence[Station]


@dataclass(frozen=True)
class Settings:
    """Everything that decides a run's numbers besides the model and the posterior draws given.

    Raises one error that names every fault.
    """

    reference: ReferenceLike = "auto"
    path: PathName = "referenced"
    ladder: Any = None  # adapted to the path if None
    estimator: EstimatorName = "mbar"
    target_error: float = 0.05
    seed: int = 0
    chains: int = 8
    warmup: int | None = None  # a few hundred if None
    kept: int | None = None  # until the target error is reached if None
    kernel: str = "hmc"
    max_seconds: float | None = None
    max_evaluations: int = 20_000_000
    check_prior: bool = True
    witness: bool = False
    search: Effort | int = "default"
    posterior_draws: int | None = None  # as many as the estimate took if None
    data_name: str | None = None  # what the data are called, by which results are told apart

    def __post_init__(self) -> None:
        faults = [*_choice_faults(self), *_number_faults(self), *_reference_faults(self.reference)]
        try:
            ladder = None if self.ladder is None else ladders.checked(self.ladder)
        except LadderError as error:
            faults.insert(0, error)
        if faults:
            kind = type(faults[0]) if len({type(f) for f in faults}) == 1 else SettingsError
            raise kind("\n".join(str(fault) for fault in faults))
        object.__setattr__(self, "ladder", ladder)
        self._convert(float, "target_error", "max_seconds")
        self._convert(int, *_LEAST)
        self._convert(bool, *_YES_OR_NO)
        if not isinstance(self.search, str):
            self._convert(int, "search")

    @property
    def stations(self) -> tuple[Station, ...]:
        """The reference and what stands between it and the posterior."""
        if isinstance(self.reference, str | Reference):
            return (self.reference,)
        return tuple(self.reference)

    def record(self) -> dict[str, Any]:
        """The settings as plain values, for a file."""
        plain = {
            "reference": [_name(station) for station in self.stations],
            "ladder": None if self.ladder is None else [float(lam) for lam in self.ladder],
        }
        return {field.name: getattr(self, field.name) for field in fields(self)} | plain

    def _convert(self, kind: type, *names: str) -> None:
        """Makes numbers of other kinds, such as NumPy's, Python's own."""
        for name in names:
            value = getattr(self, name)
            object.__setattr__(self, name, None if value is None else kind(value))


_YES_OR_NO = ("check_prior", "witness")
_LEAST = {
    "seed": 0,
    "chains": 2,
    "warmup": 50,
    "kept": 20,
    "max_evaluations": 1,
    "posterior_draws": 1,
}
_OPTIONAL = ("warmup", "kept", "posterior_draws")


def _choice_faults(settings: Settings) -> list[RefTIError]:
    choices = {
        "path": get_args(PathName),
        "estimator": get_args(EstimatorName),
        "kernel": tuple(KERNELS),
    }
    faults: list[RefTIError] = [
        SettingsError(f"{name}= must be one of {known}; got {getattr(settings, name)!r}.")
        for name, known in choices.items()
        if getattr(settings, name) not in known
    ]
    return faults + [
        SettingsError(f"{name}= must be True or False; got {getattr(settings, name)!r}.")
        for name in _YES_OR_NO
        if not isinstance(getattr(settings, name), bool | np.bool_)
    ]


def _number_faults(settings: Settings) -> list[RefTIError]:
    faults: list[RefTIError] = [
        SettingsError(
            f"{name}= must be a whole number of at least {least}; got {getattr(settings, name)!r}."
        )
        for name, least in _LEAST.items()
        if not _is_whole(getattr(settings, name), least, optional=name in _OPTIONAL)
    ]
    if isinstance(settings.seed, int) and settings.seed >= 2**63:
        faults.append(SettingsError(f"seed= must be below 2**63; got {settings.seed}."))
    if not (settings.data_name is None or isinstance(settings.data_name, str)):
        faults.append(SettingsError(f"data_name= must be text; got {settings.data_name!r}."))
    efforts = get_args(Effort)
    is_effort = isinstance(settings.search, str) and settings.search in efforts
    if not is_effort and not _is_whole(settings.search, 1, optional=False):
        faults.append(
            SettingsError(
                f"search= must be one of {efforts} or a whole number of evaluations of at least "
                f'1; got {settings.search!r}. Use "quick" for the cheapest search: without any, '
                "a run could not say what it missed."
            )
        )
    for name in ("target_error", "max_seconds"):
        value, least = getattr(settings, name), 0
        if value is None and name == "max_seconds":
            continue
        most = np.inf if name == "target_error" else None
        is_number = isinstance(value, Real) and not isinstance(value, bool)  # NumPy's among them
        if not is_number or not value > least or value == most:
            faults.append(SettingsError(f"{name}= must be positive; got {value!r}."))
    return faults


def _is_whole(number: Any, least: int, *, optional: bool) -> bool:
    if number is None:
        return optional
    is_integer = isinstance(number, int | np.integer) and not isinstance(number, bool)
    return is_integer and bool(number >= least)


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
            "A telescopic list continues with orders of Taylor expansion (4, 6, 8, 10) or "
            f"refti.Model densities; got {station!r}."
        )
        for station in rest
        if not isinstance(station, int | Model)
    ]
    orders = [fault_of_order(station) for station in rest if isinstance(station, int)]
    return faults + [SettingsError(fault) for fault in orders if fault is not None]


def _name(station: Station) -> str:
    if isinstance(station, int):
        return f"Taylor order {station}"
    return station if isinstance(station, str) else type(station).__name__
