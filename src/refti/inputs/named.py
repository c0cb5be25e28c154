"""from_name(): the model that a Python file or module has under a name."""

from __future__ import annotations

import inspect
import runpy
import sys
from collections.abc import Callable
from pathlib import Path
from types import FunctionType
from typing import Any

from refti.errors import ModelError, RefTIError
from refti.inputs.as_model import as_model, is_pymc_model
from refti.models.model import Model
from refti.models.plain_values import find_name
from refti.models.recipe import Recipe


def from_name(target: str) -> Model:
    """The model that FILE.py:NAME or MODULE:NAME names, or that the function of that name returns.

    It may be a model of PyMC or Bambi too, as evidence() takes them. A file is the user's own
    program, and is run. Raises ModelError if there is no such model.
    """
    place, _, name = target.rpartition(":")
    if not place or not name.isidentifier():
        raise ModelError(
            f"Expected FILE.py:MODEL, such as model.py:model, or FILE.stan; got {target!r}."
        )
    if place.endswith(".py") or Path(place).name != place or Path(place).is_file():
        found, place = _in_file(place, name), str(Path(place).resolve())
    else:
        found = find_name(target)
    returned = callable(found) and not isinstance(found, type)
    if returned:
        found = _call(found, target)
    if is_pymc_model(found):
        found = as_model(found)
    if not isinstance(found, Model):
        raise ModelError(
            f"{target} must be a refti.Model or a PyMC model, or a function without arguments that "
            f"returns one; {'it returned' if returned else 'got'} {type(found).__name__}."
        )
    return found.with_recipe(Recipe(f"{__name__}:from_name", (f"{place}:{name}",)))


def _in_file(file: str, name: str) -> Any:
    """What a Python file calls by a name, after it was run."""
    if not Path(file).is_file():
        raise ModelError(f"There is no file {file}.")
    folder = str(Path(file).resolve().parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)  # as Python does for a script, so that it finds its neighbours
    found = _call(lambda: runpy.run_path(file), file)
    if name not in found:
        models = [key for key, value in found.items() if _may_be_meant(value, found["__name__"])]
        raise ModelError(
            f"{file} has no name {name!r}; models in it: {', '.join(models) or 'none'}."
        )
    return found[name]


def _may_be_meant(value: Any, module: str) -> bool:
    """Whether it is a model, or a function of that module that may return one."""
    if isinstance(value, FunctionType) and value.__module__ == module:
        return not inspect.signature(value).parameters
    return isinstance(value, Model) or is_pymc_model(value)


def _call(action: Callable[[], Any], what: str) -> Any:
    """What the user's own code returns. Raises ModelError if it fails."""
    try:
        return action()
    except RefTIError:
        raise
    except Exception as error:
        raise ModelError(
            f"{what} failed: {type(error).__name__}: {error}. Expected a refti.Model, or a "
            "function without arguments that returns one."
        ) from error
