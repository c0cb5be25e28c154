"""refti: the evidence of Bayesian models by referenced thermodynamic integration."""

from __future__ import annotations

import ast
from importlib import import_module
from pathlib import Path
from typing import Any

from refti.importing import importing as _importing


def _homes() -> dict[str, str]:
    """The module that every public name comes from, as `__init__.pyi` has them for type checkers.

    Names are fetched when first used: JAX takes a second to import, `refti --help` should not.
    """
    contents = Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8")
    return {
        alias.name: statement.module
        for statement in ast.parse(contents).body
        if isinstance(statement, ast.ImportFrom) and statement.module is not None
        for alias in statement.names
    }


_HOMES = _homes()
__all__ = sorted(name for name, home in _HOMES.items() if home != "refti")
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'refti' has no attribute {name!r}")
    if _HOMES[name] == "refti":  # a module that is public as a whole
        with _importing():
            return import_module(f"refti.{name}")
    with _importing():
        value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(_HOMES)
