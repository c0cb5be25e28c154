"""Archive: pilots, plans and states of runs as files, and back to the bit; never pickle.

A file is an .npz: its arrays, and a tree of plain values that says where each belongs. Densities
of the problem stand in it by their place in the problem, which has to be at hand to read it. The
map in whose coordinates the run works is in the file: with it the given models are seen as they
were.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from pathlib import Path as FilePath
from typing import Any

import jax
import numpy as np

from refti.checks.ended import Ended
from refti.coordinates.affine import Affine
from refti.coordinates.links import Links
from refti.coordinates.map import Map
from refti.coordinates.parabolas import Parabolas
from refti.coordinates.pooling import Pooling
from refti.coordinates.power_tails import PowerTails, RadialTail
from refti.draws.cost import Cost, StageCost
from refti.draws.support_share import SupportShare
from refti.errors import StoreError
from refti.factors.banded import Banded
from refti.factors.factor import Factor, Widening
from refti.models.density import Density
from refti.models.model import Model
from refti.paths.path import Leg, Path
from refti.references.arrays import from_arrays, to_arrays
from refti.results.files import write_bytes
from refti.run.choose_reference import Choice
from refti.run.npz import pack_arrays, unpack_arrays
from refti.run.pilot import Peak, Pilot
from refti.run.plan import Plan
from refti.run.problem import Problem
from refti.run.rounds import RunState
from refti.run.users_draws import Judged
from refti.sampling.block import Block, Rung
from refti.sampling.kernels.base import Trace
from refti.sampling.kernels.registry import KERNELS
from refti.sampling.kernels.step_size import StepSize
from refti.sampling.leg import LegState, Scan
from refti.sampling.whitening import Whitening
from refti.search.large_mode import LargeMode
from refti.search.mode import Mode
from refti.search.peaks import Modes
from refti.search.searched import Searched

# What a file may hold: it must not be able to make anything else.
RECORDS: dict[str, type] = {
    kind.__name__: kind
    for kind in (
        Affine,
        Banded,
        Block,
        Choice,
        Cost,
        Factor,
        Judged,
        LargeMode,
        Leg,
        LegState,
        Links,
        Map,
        Mode,
        Modes,
        Parabolas,
        Path,
        Peak,
        Pilot,
        Plan,
        Pooling,
        PowerTails,
        RadialTail,
        Rung,
        RunState,
        Scan,
        Searched,
        StageCost,
        StepSize,
        Widening,
        SupportShare,
        Trace,
        Whitening,
    )
}
TREE = "tree"  # the array that holds the plain values
WAY = "way"  # and the one that holds the map as a file of its own, where the run has one


def write_value(path: FilePath, value: Any, problem: Problem) -> None:
    """Writes a pilot, a plan, a state or a part of one, whole or not at all."""
    write_bytes(path, to_bytes(value, problem))


def read_value(path: FilePath, problem: Problem) -> Any:
    """What was written of this problem. Raises StoreError if the file is damaged."""
    try:
        return from_bytes(path.read_bytes(), problem)
    except OSError as error:
        raise StoreError(f"{path} cannot be read: {error}.") from error
    except StoreError as error:
        raise StoreError(f"{path}: {error}") from error


def to_bytes(value: Any, problem: Problem) -> bytes:
    """The value as an .npz."""
    arrays: dict[str, np.ndarray] = {}
    tree = json.dumps(_Writer(problem, arrays).write(value), allow_nan=False)
    arrays[TREE] = np.frombuffer(tree.encode(), dtype=np.uint8)
    if problem.way is not None:
        arrays[WAY] = np.frombuffer(_written_way(problem), dtype=np.uint8)
    return pack_arrays(arrays)


def from_bytes(content: bytes, problem: Problem) -> Any:
    """The value of an .npz. Raises StoreError if it holds none."""
    try:
        arrays = unpack_arrays(content)
        if WAY in arrays or problem.way is not None:
            problem = _seen_through(arrays.pop(WAY, None), problem)
        tree = json.loads(arrays.pop(TREE).tobytes().decode())
        return _Reader(problem, arrays).read(tree)
    except (KeyError, TypeError, ValueError, AttributeError, EOFError, RecursionError) as error:
        raise StoreError(
            f"Expected a value of a run of this problem; got a file that holds none "
            f"({type(error).__name__}: {error})."
        ) from error


def problem_of(content: bytes, problem: Problem) -> Problem:
    """The problem in the coordinates that a value of `to_bytes` was written in."""
    return _seen_through(unpack_arrays(content).get(WAY), problem)


class _Writer:
    """Turns values into a tree for JSON, and puts their arrays aside."""

    def __init__(self, problem: Problem, arrays: dict[str, np.ndarray]) -> None:
        self._places, self._arrays = places(problem), arrays

    def write(self, value: Any) -> Any:
        if value is None or isinstance(value, bool | int | str):
            return value
        if isinstance(value, float):
            return {"float": value.hex()}
        if isinstance(value, np.ndarray | np.generic | jax.Array):
            return {"array": self._keep(np.asarray(value))}
        if isinstance(value, Ended):
            return {"ended": value.value}
        if type(value).__name__ in RECORDS and type(value) is RECORDS[type(value).__name__]:
            return {"record": [type(value).__name__, self._write_fields(value)]}
        if isinstance(value, Mapping):
            return {"mapping": {str(key): self.write(item) for key, item in value.items()}}
        if isinstance(value, tuple) and not hasattr(value, "_fields"):
            return {"tuple": [self.write(item) for item in value]}
        if isinstance(value, tuple):  # where chains stand, as their kernel has it
            return {"state": [self.write(item) for item in value]}
        return self._write_density(value)

    def _write_fields(self, value: Any) -> dict[str, Any]:
        names = [f.name for f in fields(value)] if is_dataclass(value) else value._fields
        return {name: self.write(getattr(value, name)) for name in names if name != "problem"}

    def _write_density(self, density: Density) -> Any:
        for place, known in self._places.items():
            if density is known:
                return {"place": place}
        name, arrays = to_arrays(density)
        return {"density": [name, {field: self._keep(a) for field, a in arrays.items()}]}

    def _keep(self, array: np.ndarray) -> str:
        name = f"array_{len(self._arrays)}"
        self._arrays[name] = array
        return name


class _Reader:
    """Makes values again of a tree and its arrays."""

    def __init__(self, problem: Problem, arrays: Mapping[str, np.ndarray]) -> None:
        self._problem, self._places, self._arrays = problem, places(problem), arrays

    def read(self, tree: Any) -> Any:
        if not isinstance(tree, dict):
            return tree
        ((kind, content),) = tree.items()
        match kind:
            case "float":
                return float.fromhex(content)
            case "array":
                return self._arrays[content]
            case "ended":
                return Ended(content)
            case "mapping":
                return {key: self.read(item) for key, item in content.items()}
            case "tuple" | "state":
                return tuple(self.read(item) for item in content)
            case "place":
                return self._places[content]
            case "density":
                name, arrays = content
                numbers = {field: self._arrays[key] for field, key in arrays.items()}
                return from_arrays(name, numbers, self._problem.model)
            case "record":
                return self._read_record(*content)
        raise ValueError(f"there is no kind {kind!r}")

    def _read_record(self, name: str, written: Mapping[str, Any]) -> Any:
        values = {field: self.read(item) for field, item in written.items()}
        if name == RunState.__name__:
            values["problem"] = self._problem
        if name == Rung.__name__:
            values["state"] = KERNELS[values["kernel"]].state_kind(*values["state"])
        return RECORDS[name](**values)


def _written_way(problem: Problem) -> bytes:
    return to_bytes(problem.way, replace(problem, way=None))


def _seen_through(written: np.ndarray | None, problem: Problem) -> Problem:
    """The problem in the coordinates of a map; itself, densities and all, where it is in them."""
    plain = replace(problem, way=None)
    if written is None:
        return plain
    if problem.way is not None and _written_way(problem) == written.tobytes():
        return problem
    way = from_bytes(written.tobytes(), plain)
    if not isinstance(way, Map):
        raise ValueError(f"expected a map of coordinates, got {type(way).__name__}")
    return replace(problem, way=way)


def places(problem: Problem) -> dict[str, Any]:
    """The densities that a problem brings along, by where they stand in it."""
    places: dict[str, Any] = {}
    for index, model in enumerate(problem.models):
        places[f"model {index}"] = model.density
        if model.prior is not None:
            places[f"prior {index}"] = model.prior
    for index, station in enumerate(problem.settings.stations):
        if isinstance(station, Model):
            places[f"station {index}"] = station.density
        elif not isinstance(station, str | int):
            places[f"station {index}"] = station
    return places
