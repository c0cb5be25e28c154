"""Files of JSON lines: a record a line, added when it is there, whole or cut off when read."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from refti.errors import StoreError
from refti.results.files import plain

Record = TypeVar("Record")


def append_record(path: Path, record: Mapping[str, Any]) -> None:
    """Adds a line to a file, which is made with its folder if it is not there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(plain(record), sort_keys=True, allow_nan=False) + "\n")
        file.flush()
        os.fsync(file.fileno())


def read_records(path: Path, make: Callable[[dict[str, Any]], Record]) -> list[Record]:
    """What `make` makes of each line; a last line that was not written to its end is cut off.

    Raises:
        StoreError: a line is not what `make` expects.
    """
    if not path.exists():
        return []
    content = path.read_bytes()
    whole = content.rfind(b"\n") + 1
    if whole < len(content):
        with path.open("r+b") as file:
            file.truncate(whole)
    records = []
    for number, line in enumerate(content[:whole].splitlines(), start=1):
        try:
            records.append(make(json.loads(line)))
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise StoreError(
                f"Line {number} of {path} is no run of a study ({type(error).__name__}: {error}). "
                "Give a file that refti calibrate wrote, or another directory."
            ) from error
    return records
