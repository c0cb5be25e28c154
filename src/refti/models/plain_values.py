"""Plain values: what models are made of, as JSON and arrays, with functions as names."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from refti.errors import ModelError
from refti.models.supports import Support, make_support


@dataclass(frozen=True)
class Writer:
    """Writes values, and keeps the arrays among them and what could not be written.

    What JSON has no word for is an object with one key that says what it is.
    """

    arrays: dict[str, np.ndarray] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)

    def write(self, value: Any, place: str) -> Any:
        """The value as JSON can hold it; a fault is kept, with its place, where it cannot be."""
        if value is None or isinstance(value, bool | int | str):
            return value
        for kind, write in _WRITERS:
            if isinstance(value, kind):
                return write(self, value, place)
        name = name_of(value)
        if name is not None:
            return {"name": name}
        self.faults.append(f"{place} is {_described(value)}")
        return None

    def keep(self, array: np.ndarray) -> str:
        """The name under which an array is kept."""
        name = f"array_{len(self.arrays)}"
        self.arrays[name] = array
        return name

    def require_no_faults(self, what: str) -> None:
        """Raises ModelError if something could not be written."""
        if self.faults:
            raise ModelError(
                f"{what}: {'; '.join(self.faults)}. Expected numbers, text, NumPy arrays, "
                "supports, and functions at the top level of a module that can be imported."
            )


@dataclass(frozen=True)
class Reader:
    """Reads back what a Writer wrote."""

    arrays: Mapping[str, np.ndarray]

    def read(self, value: Any) -> Any:
        """The value that was written. Raises ModelError if it is none of a Writer's."""
        if isinstance(value, list):
            return [self.read(item) for item in value]
        if not isinstance(value, dict):
            return value
        kind, content = next(iter(value.items()), (None, None))
        if kind not in _READERS or len(value) != 1:
            raise ModelError(f"A file holds {value!r} where part of a model was expected.")
        return _READERS[kind](self, content)


def name_of(value: Any) -> str | None:
    """The module and name by which another process can import a value; None if there are none."""
    module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
    if not isinstance(module, str) or not isinstance(name, str) or module == "__main__":
        return None
    found: Any = sys.modules.get(module)
    if getattr(found, "__spec__", None) is None:  # a script, which no other process can import
        return None
    for part in name.split("."):
        found = getattr(found, part, None)
    return f"{module}:{name}" if found is value else None


def find_name(name: str) -> Any:
    """What a module calls by this name; the module is imported, and nothing is called.

    Raises ModelError if there is no such module or name.
    """
    module, _, path = name.partition(":")
    try:
        found = import_module(module)
        for part in path.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError, ValueError) as error:
        raise ModelError(
            f"{name} cannot be imported: {error}. Expected a module that Python finds, and a name "
            "at its top level."
        ) from error
    return found


def _write_float(writer: Writer, value: float, place: str) -> Any:
    return float(value) if np.isfinite(value) else {"float": str(float(value))}


def _write_array(writer: Writer, value: np.ndarray, place: str) -> Any:
    if value.dtype.hasobject:
        writer.faults.append(f"{place} is an array of Python objects")
        return None
    return {"array": writer.keep(np.array(value))}


def _write_jax_array(writer: Writer, value: jax.Array, place: str) -> Any:
    if jax.dtypes.issubdtype(value.dtype, jax.dtypes.prng_key):
        writer.faults.append(f"{place} is a key of jax.random")
        return None
    return {"jax_array": writer.keep(np.array(value))}


def _write_items(writer: Writer, values: Any, place: str) -> list[Any]:
    return [writer.write(item, f"{place}[{index}]") for index, item in enumerate(values)]


def _write_mapping(writer: Writer, values: Mapping[Any, Any], place: str) -> Any:
    items = [
        [writer.write(key, f"a key of {place}"), writer.write(value, f"{place}[{key!r}]")]
        for key, value in values.items()
    ]
    return {"dictionary": items}


def _described(value: Any) -> str:
    """What a value is that cannot be written, in words."""
    name = getattr(value, "__qualname__", None)
    if not callable(value) or name is None:
        return f"of type {type(value).__name__}"
    if "<lambda>" in name:
        return "a lambda"
    return f"the function {name} of {getattr(value, '__module__', None)}, which has no such name"


# In this order: a NumPy number may be one of Python's too.
_WRITERS: tuple[tuple[Any, Callable[[Writer, Any, str], Any]], ...] = (
    (np.generic, lambda writer, v, place: {"number": writer.keep(np.array(v))}),
    (float, _write_float),
    (np.ndarray, _write_array),
    (jax.Array, _write_jax_array),
    (Support, lambda writer, v, place: {"support": writer.write(v.made_by, place)}),
    (Path, lambda writer, v, place: {"path": str(v)}),
    (list, _write_items),
    (tuple, lambda writer, v, place: {"tuple": _write_items(writer, v, place)}),
    (Mapping, _write_mapping),
)


def _read_jax_array(reader: Reader, name: str) -> jax.Array:
    with jax.enable_x64(True):
        return jnp.asarray(reader.arrays[name])


_READERS: dict[str, Callable[[Reader, Any], Any]] = {
    "array": lambda reader, name: np.array(reader.arrays[name]),
    "dictionary": lambda reader, items: {reader.read(k): reader.read(v) for k, v in items},
    "float": lambda reader, text: float(text),
    "jax_array": _read_jax_array,
    "name": lambda reader, name: find_name(name),
    "number": lambda reader, name: reader.arrays[name][()],
    "path": lambda reader, text: Path(text),
    "support": lambda reader, made_by: make_support(*reader.read(made_by)),
    "tuple": lambda reader, items: tuple(reader.read(item) for item in items),
}
