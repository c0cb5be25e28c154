"""Where XLA keeps the arguments of a call in memory, as the C header that JAX ships declares it."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import jax

HEADER = Path("xla") / "ffi" / "api" / "c_api.h"
NUMBERS: Mapping[str, Any] = {
    "size_t": ctypes.c_size_t,
    "int": ctypes.c_int,
    "int32_t": ctypes.c_int32,
    "uint32_t": ctypes.c_uint32,
    "int64_t": ctypes.c_int64,
}


class LayoutError(RuntimeError):
    """XLA's calls are not laid out in a way that refti can read."""

    def __init__(self, what: str):
        super().__init__(
            f"code outside of JAX cannot be called by JAX {jax.__version__}, for {what} (bring "
            "both to their newest versions by pip install --upgrade refti jax)"
        )


@dataclass(frozen=True)
class Layout:
    """The text of the header, in which structures and constants are looked up by their names."""

    text: str

    def offset(self, structure: str, *fields: str) -> int:
        """How many bytes into a structure a field begins, or a field of a structure within."""
        kind, total = self._structure(structure), 0
        for field in fields:
            if not hasattr(kind, field):
                raise LayoutError(f"{structure} has no {'.'.join(fields)} any more")
            total += getattr(kind, field).offset
            kind = dict(kind._fields_)[field]
        return total

    def size(self, structure: str) -> int:
        """The size that XLA gives a structure in its first field: up to the last that it declares.

        Later versions may append fields, which older code does not know of.
        """
        last = self._find(rf"STRUCT_TRAITS\({structure},\s*(\w+)\)", f"the size of {structure}")
        kind = self._structure(structure)
        return getattr(kind, last).offset + getattr(kind, last).size

    def constant(self, name: str) -> int:
        """The value of a macro or of an enumerator."""
        return int(self._find(rf"\b{name}(?:\s*=)?\s+(\d+)", name))

    def _structure(self, name: str) -> Any:
        """The structure by ctypes, which aligns its fields as the C compiler does."""
        body = self._find(rf"struct {name} {{\n(.*?)\n}}", name)
        fields = [self._field(line) for line in body.split(";") if line.strip()]
        return type(name, (ctypes.Structure,), {"_fields_": fields})

    def _field(self, declaration: str) -> tuple[str, Any]:
        kind, name = declaration.rsplit(maxsplit=1)
        return name, self._type(kind.replace("const ", "").strip())

    def _type(self, kind: str) -> Any:
        if kind.endswith("*"):
            return ctypes.c_void_p
        if kind in NUMBERS:
            return NUMBERS[kind]
        if re.search(rf"typedef enum {{[^}}]*}} {kind};", self.text):
            return ctypes.c_int
        if alias := re.search(rf"typedef (\w+) {kind};", self.text):
            return self._type(alias[1])
        return self._structure(kind)

    def _find(self, pattern: str, what: str) -> str:
        found = re.search(pattern, self.text, flags=re.DOTALL)
        if found is None:
            raise LayoutError(f"its header does not declare {what} as it did")
        return found[1]


def parse_layout(header: str) -> Layout:
    """The layout that a header's text declares."""
    return Layout(re.sub(r"//[^\n]*|/\*.*?\*/", "", header, flags=re.DOTALL))


@cache
def read_layout() -> Layout:
    """The layout that the header of the installed JAX declares."""
    file = Path(jax.ffi.include_dir()) / HEADER
    try:
        return parse_layout(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise LayoutError(f"its header cannot be read: {error}") from error
