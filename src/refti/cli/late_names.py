"""Names that the help of a command lists, fetched when it is shown: it takes JAX to know them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, get_args

import click


class LateNames(click.ParamType):
    """Any text; the settings of a run say what is wrong with it, as they do for Python."""

    name = "text"

    def __init__(self, names: Callable[[], Sequence[str]]) -> None:
        self.names = names

    def get_metavar(self, param: click.Parameter, ctx: Any = None) -> str:
        """The names, in the help of the command alone."""
        return "|".join(self.names())


def kernels() -> Sequence[str]:
    """The names of all kernels."""
    from refti.sampling.kernels.registry import KERNELS

    return tuple(KERNELS)


def families() -> Sequence[str]:
    """The names of all families of references, and "auto"."""
    from refti.references.registry import FAMILIES

    return ("auto", *FAMILIES)


def estimators() -> Sequence[str]:
    """The names of all estimators."""
    from refti.run.settings import EstimatorName

    return get_args(EstimatorName)


def paths() -> Sequence[str]:
    """The names of all paths."""
    from refti.run.settings import PathName

    return get_args(PathName)
