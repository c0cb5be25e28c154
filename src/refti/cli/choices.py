"""Choices of options: their names stand here too, for it takes JAX a second to know them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, get_args

import click
from click.shell_completion import CompletionItem

# As the registries have them; a test sees that they do.
KERNELS = ("hmc", "nuts", "elliptical")
FAMILIES = (
    "covariance",
    "laplace",
    "structured",
    "low_rank",
    "diagonal",
    "mixture",
    "laplace_mixture",
    "broad_mixture",
    "ridge_mixture",
    "warped",
    "structured_warped",
    "student",
    "variational",
    "variational_diagonal",
    "truncated",
    "flow",
)
ESTIMATORS = ("mbar", "ti", "stepping_stone")
PATHS = ("referenced", "power")
FEW_LETTERS = 40
EFFORTS = ("quick", "default", "thorough")


class Names(click.ParamType):
    """One of some names, which the shell completes and the help lists."""

    name = "name"

    def __init__(self, known: Callable[[], Sequence[str]], *, or_number: str = "") -> None:
        """Takes the names, and what a number would be where one is taken as well."""
        self.known, self.or_number = known, or_number

    def get_metavar(self, param: click.Parameter, ctx: Any = None) -> str:
        """The names with bars between, where they are few."""
        names = "|".join([*self.known(), *([self.or_number] if self.or_number else [])])
        return names if len(names) <= FEW_LETTERS else "NAME"

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """The name or the number; fails in the words of the command line."""
        if value in self.known():
            return value
        if self.or_number and str(value).isdecimal() and int(value) > 0:
            return int(value)
        number = " or a whole number of at least 1" if self.or_number else ""
        self.fail(f"must be one of {', '.join(self.known())}{number}; got {value!r}.", param, ctx)

    def shell_complete(self, ctx: Any, param: Any, incomplete: str) -> list[CompletionItem]:
        """The names that begin like this."""
        return [CompletionItem(name) for name in self.known() if name.startswith(incomplete)]


class NameOption(click.Option):
    """An option whose help lists its names where there are many."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """The option and its help."""
        record = super().get_help_record(ctx)
        if record is None or not isinstance(self.type, Names) or "NAME" not in record[0]:
            return record
        return record[0], f"{record[1]}  One of: {', '.join(self.type.known())}."


def kernels() -> Sequence[str]:
    """The names of all kernels."""
    return tuple(_registry("refti.sampling.kernels.registry", "KERNELS", KERNELS))


def families() -> Sequence[str]:
    """The names of all families of references, and "auto"."""
    return ("auto", *_registry("refti.references.registry", "FAMILIES", FAMILIES))


def estimators() -> Sequence[str]:
    """The names of all estimators."""
    return _settings("EstimatorName", ESTIMATORS)


def paths() -> Sequence[str]:
    """The names of all paths."""
    return _settings("PathName", PATHS)


def efforts() -> Sequence[str]:
    """How hard other modes may be looked for."""
    return _settings("Effort", EFFORTS)


def _registry(module: str, table: str, known: Sequence[str]) -> Sequence[str]:
    """The names of a registry that is loaded, to which rows may have been added."""
    return tuple(getattr(sys.modules[module], table)) if module in sys.modules else known


def _settings(kind: str, known: Sequence[str]) -> Sequence[str]:
    settings = sys.modules.get("refti.run.settings")
    return known if settings is None else get_args(getattr(settings, kind))
