"""Compiled functions of densities, of which those for the last few models are kept.

What `jax.jit` has compiled it keeps as long as the function lives, and a function at the top of a
module lives for ever. A process that goes through many models would grow by some 15 MB with each.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from functools import update_wrapper, wraps
from threading import Lock
from typing import Any, Generic, ParamSpec, TypeVar

import jax
import numpy as np

from refti.models.density import QUICK_COMPILE
from refti.models.tuning import TUNING

P = ParamSpec("P")
R = TypeVar("R")


class Compiled(Generic[P, R]):
    """A function compiled for each kind of its first argument, a density or what holds some.

    Densities are of one kind if they run the same program on arrays of the same shapes. The
    programs of the kinds used last are kept, so that a model that comes again, with other data or
    not, finds its own.
    """

    def __init__(
        self,
        function: Callable[P, R],
        static_argnames: tuple[str, ...],
        options: dict[str, Any] | None,
    ):
        self._function = function
        self._static, self._options = static_argnames, options
        self._kept: OrderedDict[Any, Any] = OrderedDict()
        self._latest: tuple[Any, Any] = (None, None)
        self._dropped = 0
        self._lock = Lock()
        update_wrapper(self, function)

    def __call__(self, *arguments: P.args, **keywords: P.kwargs) -> R:
        """The function's value, by a program that is compiled if there is none yet."""
        result: R = self.program_for(arguments[0])(*arguments, **keywords)
        return result

    def program_for(self, density: Any) -> Any:
        """The jitted function for densities of this kind."""
        latest, program = self._latest
        if latest is not density:  # a search asks some hundred times for the same
            program = self._program(_kind(density))
            self._latest = density, program
        return program

    def program_within(self, density: Any) -> Any:
        """The same for a density that another program is being traced with, which is not kept."""
        return self._program(_kind(density))

    def _program(self, kind: Any) -> Any:
        with self._lock:
            program = self._kept.get(kind)
            if program is None:
                program = self._kept[kind] = self._compile()
            self._kept.move_to_end(kind)
            while len(self._kept) > TUNING.kept_programs:
                _, oldest = self._kept.popitem(last=False)
                self._dropped += oldest._cache_size()
            return program

    def _compile(self) -> Any:
        # A function of its own for each kind: JAX shares what it compiled among those of one.
        @wraps(self._function)
        def function(*arguments: P.args, **keywords: P.kwargs) -> R:
            return self._function(*arguments, **keywords)

        return jax.jit(function, static_argnames=self._static, compiler_options=self._options)

    def _cache_size(self) -> int:
        """How many programs were built so far, those that are gone among them, as jit's own."""
        with self._lock:
            return self._dropped + self.kept

    @property
    def kept(self) -> int:
        """How many programs are kept."""
        return sum(program._cache_size() for program in self._kept.values())


def compiled(
    *,
    static_argnames: tuple[str, ...] = (),
    options: dict[str, Any] | None = QUICK_COMPILE,
) -> Callable[[Callable[P, R]], Compiled[P, R]]:
    """The decorator that makes a function a compiled one; None for XLA's own options."""
    return lambda function: Compiled(function, static_argnames, options)


def _kind(density: Any) -> Any:
    leaves, structure = jax.tree.flatten(density)
    return structure, tuple(np.shape(leaf) for leaf in leaves)
