"""Toolchains: how a Stan program becomes a shared library with BridgeStan's C interface."""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol

from refti.errors import ModelError
from refti.inputs.stan.bridgestan import BridgeStan
from refti.inputs.stan.program import Program
from refti.inputs.stan.wheel import Wheel


class Toolchain(Protocol):
    """What checks and compiles programs."""

    @property
    def stanc(self) -> Path:
        """Stan's own compiler, from Stan to C++."""
        ...

    @property
    def name(self) -> str:
        """What it is, in words."""
        ...

    def build(self, program: Program, begin: Callable[[], None]) -> Path:
        """The shared library of a program, from the cache if it was built before.

        `begin` is called where it has to be compiled.
        """
        ...


def find_toolchain() -> Toolchain:
    """BridgeStan's sources where BRIDGESTAN names them, those in httpstan's wheel otherwise."""
    sources = os.environ.get("BRIDGESTAN")
    if sources:
        return BridgeStan(Path(sources))
    found = find_spec("httpstan")  # which does not import it
    if found is None or not found.submodule_search_locations:
        raise ModelError(
            "Stan programs need the Stan sources, which refti takes from the package httpstan. "
            'Install it with: pip install "refti[stan]"'
        )
    return Wheel(Path(found.submodule_search_locations[0]))
