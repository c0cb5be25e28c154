"""CmdStan's CSV files: the draws of a chain, after comments, sampler columns and warm-up."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path

import numpy as np

from refti.errors import ModelError

_COMMA = re.compile(r",(?![^\[]*\])")  # not that of theta[1,2]
_SETTING = re.compile(r"#\s*(\w+)\s*=\s*(\S+)")


@dataclass(frozen=True)
class _Chain:
    """One file: its columns, and its draws with their line numbers."""

    file: Path
    columns: list[str]
    rows: list[tuple[int, list[str]]]


def read_chains(files: Sequence[Path], wanted: Collection[str]) -> dict[str, np.ndarray]:
    """The variables wanted, [chain, draw, ...]; [draw, ...] if the chains differ in length.

    Names that no file has are not in the result; names that all have but are not wanted are in it
    as empty arrays, so that the user can be told what is there.
    """
    chains = [_read_chain(file) for file in files]
    for chain in chains[1:]:
        if chain.columns != chains[0].columns:
            raise ModelError(
                f"{chain.file} has other columns than {chains[0].file}. Give the files of one "
                "model, one per chain."
            )
    held = {}
    for name, places in _columns_by_variable(chains[0].columns).items():
        if name not in wanted:
            held[name] = np.empty(0)
            continue
        parts = [_read_variable(chain, name, places) for chain in chains]
        alike = len({len(part) for part in parts}) == 1
        held[name] = np.stack(parts) if alike else np.concatenate(parts)
    return held


def _read_chain(file: Path) -> _Chain:
    """The file's comments, header and draws; those of the warm-up are left out."""
    settings: dict[str, str] = {}
    columns: list[str] = []
    rows: list[tuple[int, list[str]]] = []
    adapted: int | None = None
    for number, line in enumerate(file.read_text(errors="replace").splitlines(), start=1):
        if line.startswith("#"):
            found = _SETTING.match(line)
            if found and not columns:
                settings.setdefault(found[1], found[2])
            if "Adaptation terminated" in line:
                adapted = len(rows)
        elif not columns:
            columns = [column.strip(' "') for column in _COMMA.split(line)] if line.strip() else []
        elif line.strip():
            rows.append((number, line.split(",")))
    if settings.get("method", "sample") != "sample":
        raise ModelError(
            f"{file} holds the output of CmdStan's method {settings['method']}; expected "
            "posterior draws, of its method sample."
        )
    for number, row in rows:
        if len(row) != len(columns):
            raise ModelError(
                f"{file} has {len(row)} values in line {number}; expected {len(columns)}. Was "
                "it cut short?"
            )
    begin = _count_warmup(settings) if adapted is None else adapted
    if not rows[begin:]:
        raise ModelError(f"{file} holds no draws. Expected a CSV file of CmdStan.")
    return _Chain(file, columns, rows[begin:])


def _count_warmup(settings: dict[str, str]) -> int:
    """How many of the rows are warm-up, by what the comments say."""
    if settings.get("save_warmup") not in ("1", "true"):
        return 0
    return -(-int(settings.get("num_warmup", 1000)) // int(settings.get("thin", 1)))


def _columns_by_variable(columns: Sequence[str]) -> dict[str, dict[int, str]]:
    """By variable, its columns' numbers and their indices as written; the sampler's left out."""
    places: dict[str, dict[int, str]] = {}
    for number, column in enumerate(columns):
        if column.endswith("__"):
            continue
        name, index = re.fullmatch(r"([^.:\[]*)(.*)", column).groups()  # type: ignore[union-attr]
        places.setdefault(name, {})[number] = index
    return places


def _read_variable(chain: _Chain, name: str, places: dict[int, str]) -> np.ndarray:
    """The draws of one variable, [draw, *shape]."""
    indices = {number: _parse_index(chain, name, text) for number, text in places.items()}
    shape = tuple(max(sizes) + 1 for sizes in zip(*indices.values(), strict=True))
    if prod(shape) != len(indices):
        raise ModelError(
            f'{chain.file} has {len(indices)} columns of "{name}"; expected {prod(shape)} for the '
            f"shape {shape}."
        )
    flat = _read_columns(chain, name, list(indices))
    values = np.empty((*shape, len(flat)))
    for column, index in zip(flat.T, indices.values(), strict=True):
        values[index] = column  # CmdStan writes matrices by columns
    return np.moveaxis(values, -1, 0)


def _read_columns(chain: _Chain, name: str, numbers: list[int]) -> np.ndarray:
    """Some columns as numbers, [draw, column]."""
    try:
        return np.array([[row[n] for n in numbers] for _, row in chain.rows], dtype=np.float64)
    except ValueError as error:
        raise ModelError(
            f'{chain.file} holds something that is not a number for "{name}": {error}. Was it '
            "cut short?"
        ) from None


def _parse_index(chain: _Chain, name: str, text: str) -> tuple[int, ...]:
    """Zero-based indices of an element, from ".1.2" or "[1,2]"; none of a scalar."""
    if re.fullmatch(r"(\.\d+)*", text) or re.fullmatch(r"\[\d+(,\d+)*\]", text):
        return tuple(int(digits) - 1 for digits in re.findall(r"\d+", text))
    raise ModelError(
        f'{chain.file} has the column {name + text!r}: "{name}" is a tuple or complex, which '
        "cannot be a parameter here. Give its parts as parameters of their own."
    )
