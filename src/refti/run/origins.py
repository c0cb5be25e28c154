"""Origins: the program that a result is of, by its name and digest, whatever its language."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable
from pathlib import Path
from types import FunctionType, MethodType
from typing import Any

from refti.models.model import Model
from refti.models.recipe import Recipe


def origin_of(model: Model) -> dict[str, Any] | None:
    """What the model was made from, as plain values; None where nothing is known of that.

    Languages know their own programs and data. Of functions it is the text that they were written
    as, and of a model in a file the file; functions typed in where there is no file have a name
    alone.
    """
    known = dict(model.origin or {})
    if "program" not in known and model.recipe is not None:
        known = {"kind": "python", **known, **_program(model.recipe)}
    return known if len(known) > 1 else None


def _program(recipe: Recipe) -> dict[str, str]:
    if recipe.maker.endswith(":from_name"):
        place, _, name = str(recipe.arguments[0]).rpartition(":")
        file = Path(place)
        if not file.is_file():
            return {"program": str(recipe.arguments[0])}
        return {"program": f"{file.name}:{name}", "program_sha256": _sha256(file.read_bytes())}
    given = (*recipe.arguments, *recipe.keywords.values())
    functions = [one for one in given if isinstance(one, FunctionType | MethodType)]
    if not functions:
        return {}
    program = {"program": ", ".join(one.__qualname__ for one in functions)}
    try:
        texts = [_text(one) for one in functions]
    except (OSError, TypeError):  # typed in, or not written in Python
        return program
    return {**program, "program_sha256": _sha256("\0".join(texts).encode())}


def _text(function: Callable[..., Any]) -> str:
    return inspect.getsource(inspect.unwrap(function))


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
