"""Data for a Stan program, from a dictionary, JSON or an R dump, as its declarations want them."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from refti.errors import ModelError
from refti.inputs.stan.dump import parse_dump
from refti.inputs.stan.program import Program
from refti.inputs.stan.sizes import size_faults

Data = Mapping[str, Any] | str | Path | None


def to_json(program: Program, values: Mapping[str, Any]) -> str:
    """The data that the program declares, as Stan's JSON.

    Raises ModelError, with all their faults together, if they do not fit the declarations.
    """
    faults = []
    texts = {}
    for name, declared in program.data.items():
        if name not in values:
            faults.append(f"{name!r} is missing; expected {_describe(declared)}.")
            continue
        try:
            texts[name] = _convert(values[name], declared)
        except (TypeError, ValueError) as error:
            faults.append(f"{name!r} must be {_describe(declared)}; got {error}.")
    if not faults:
        faults = size_faults(program.code.data, texts)
    if faults:
        raise ModelError(f"{_misfit(program, values)}\n" + "\n".join(faults))
    return json.dumps(texts, allow_nan=False)


def _misfit(program: Program, values: Mapping[str, Any]) -> str:
    """Which data were given, and whether they look like those of another program."""
    if not values:
        return f"{program.name} needs data, and there are none; give them as data=."
    said = f"data= does not fit {program.name}; it holds {', '.join(map(str, values))}."
    unknown = [str(name) for name in values if name not in program.data]
    if len(unknown) == len(values):
        return f"{said} The program declares none of these: are they the data of another program?"
    if unknown:
        return f"{said} The program does not declare {', '.join(unknown)}."
    return said


def read_data(data: Data) -> Mapping[str, Any]:
    """The data by name. Raises ModelError if they cannot be read."""
    if data is None:
        return {}
    if isinstance(data, Mapping):
        return data
    if not isinstance(data, str | Path):
        raise ModelError(
            "data= must be a dictionary, or the path of a JSON file or an R dump; got "
            f"{type(data).__name__}."
        )
    file = Path(data)
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ModelError(f"data= {file} cannot be read: {error}.") from error
    try:
        return parse_dump(text) if _is_dump(file, text) else _parse_json(file, text)
    except (ValueError, RecursionError) as error:
        raise ModelError(
            f"data= {file} is neither JSON nor an R dump: {error}. Write it with json.dump, or in "
            "R with cmdstanr::write_stan_json."
        ) from error


def _is_dump(file: Path, text: str) -> bool:
    return file.suffix.lower() in (".r", ".rdump", ".dump") or (
        "<-" in text and not text.lstrip().startswith("{")
    )


def _parse_json(file: Path, text: str) -> Mapping[str, Any]:
    read = json.loads(text)
    if not isinstance(read, dict):
        raise ModelError(f"data= {file} must hold one JSON object; got {type(read).__name__}.")
    return read


def _convert(value: Any, declared: Mapping[str, Any]) -> Any:
    """The value as JSON knows it, of the type and the number of dimensions that is declared."""
    kind, dimensions = declared["type"], declared["dimensions"]
    if kind not in ("int", "real"):  # complex numbers and tuples are Stan's own affair
        return _to_lists(value)
    array = np.asarray(_to_lists(value, numbers=True))
    if array.dtype.kind not in "bifu":
        raise TypeError(_type_of(_to_lists(value)))
    # An empty array has lost how many dimensions it had.
    if array.ndim != dimensions and array.size > 0:
        raise ValueError(f"the shape {array.shape}")
    if kind == "int":
        whole = np.asarray(array, dtype=np.float64)
        if not np.all(np.isfinite(whole)) or np.any(whole != np.round(whole)):
            example = whole[~(whole == np.round(whole)) | ~np.isfinite(whole)].ravel()[0]
            raise ValueError(f"{example!s}")
        return array.astype(np.int64).tolist()
    return _name_infinities(array.astype(np.float64).tolist())


def _to_lists(value: Any, *, numbers: bool = False) -> Any:
    """Arrays of whatever library as lists; Stan's names of the numbers JSON lacks as numbers."""
    if numbers and isinstance(value, str):
        return float(value)
    if isinstance(value, Mapping):
        return {key: _to_lists(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_to_lists(item, numbers=numbers) for item in value]
    if isinstance(value, str | int | float) or value is None:
        return value
    return np.asarray(value).tolist()


def _name_infinities(value: Any) -> Any:
    """The value with NaN and infinities by the names that Stan's JSON has for them."""
    if isinstance(value, list):
        return [_name_infinities(item) for item in value]
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _describe(declared: Mapping[str, Any]) -> str:
    """What is declared, in words."""
    kinds = {"int": "whole number", "real": "number"}
    kind, dimensions = kinds.get(declared["type"], str(declared["type"])), declared["dimensions"]
    if dimensions == 0:
        return f"one {kind}"
    return f"{kind}s in an array of {dimensions} dimension{'s' if dimensions > 1 else ''}"


def _type_of(value: Any) -> str:
    """The type of the first value that is no number, of which None, JSON's null, is one."""
    inside = list(_numbers_in(value))
    odd = [one for one in inside if not isinstance(one, bool | int | float)]
    if any(one is None for one in odd):
        return "null (None), which stands for a missing value"
    return f"values of type {type((odd or inside or [value])[0]).__name__}"


def _numbers_in(value: Any) -> Iterator[Any]:
    if isinstance(value, list | tuple):
        for item in value:
            yield from _numbers_in(item)
    else:
        yield value
