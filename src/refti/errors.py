"""The exceptions of refti: bad input is told before any compute, and says what to do.

RefTIError
├── ModelError          the density, its parameters or its prior/likelihood split
├── ReferenceFitError   a reference density that cannot be fitted to this model
├── PathError           a path that this model, or this pair of models, does not have
├── LadderError         rungs that do not run from 0 to 1
├── SettingsError       an option of evidence() or of the command line
├── SamplingError       sampling that could not begin, such as no start inside the support
│   └── StoppedEarlyError   the budget was spent before there was an estimate; carries the stage
├── CompareError        results that cannot be ranked beside each other
├── StoreError          a run directory that cannot be used or read
├── ExecutorError       workers that cannot be reached, or that were lost too often
└── NotTrustedError     a number was asked for whose checks failed; carries the result
"""

from __future__ import annotations

from typing import Any


class RefTIError(Exception):
    """Anything refti refuses, with what was expected, what came and what to do."""


class ModelError(RefTIError):
    """The model cannot be used as given."""


class ReferenceFitError(RefTIError):
    """The reference cannot be fitted to this model."""


class PathError(RefTIError):
    """The path asked for does not exist for this model."""


class LadderError(RefTIError):
    """The ladder does not run from 0 to 1."""


class SettingsError(RefTIError):
    """An option has a value that cannot be used."""


class SamplingError(RefTIError):
    """Sampling could not begin."""


class StoppedEarlyError(SamplingError):
    """The budget was spent before there was an estimate, in the stage that `stage` names."""

    def __init__(self, message: str, stage: str):
        super().__init__(message)
        self.stage = stage


class CompareError(RefTIError):
    """These results cannot be compared."""


class StoreError(RefTIError):
    """The run directory cannot be used."""


class ExecutorError(RefTIError):
    """The work cannot be done where it was to be done."""


class NotTrustedError(RefTIError):
    """The result exists but its checks failed; it is kept in `result`."""

    def __init__(self, message: str, result: Any):
        super().__init__(message)
        self.result = result
