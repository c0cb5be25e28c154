"""Fits that exist: output folders of CmdStan, and fits of CmdStanPy, as their files."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from refti.errors import ModelError

# CmdStanPy and CmdStanR end names in a chain's number: eight_schools-20240101_1.csv, output_2.csv.
_CHAIN = re.compile(r"^(?P<run>.*?)(?:[-_]?\d+(?:-[0-9a-f]{6})?)?$")


def find_fit(posterior: Any) -> list[Path] | None:
    """The files of a fit, or None if this is no file, list of files, folder or fit of CmdStanPy.

    Raises ModelError if a folder holds the draws of no fit, or of several.
    """
    files = getattr(getattr(posterior, "runset", None), "csv_files", None)
    if files is not None:
        return [Path(file) for file in files]
    if isinstance(posterior, str | os.PathLike):
        place = Path(posterior)
        return _in_folder(place) if place.is_dir() else [place]
    is_list = isinstance(posterior, Sequence) and len(posterior) > 0
    if is_list and all(isinstance(file, str | os.PathLike) for file in posterior):
        return [Path(file) for file in posterior]
    return None


def _in_folder(folder: Path) -> list[Path]:
    """The CSV files of the one fit in a folder, in the order of its chains."""
    runs: dict[str, list[Path]] = {}
    for file in sorted(folder.glob("*.csv"), key=_by_number):
        if _holds_draws(file):
            match = _CHAIN.match(file.stem)
            runs.setdefault(match["run"] if match else file.stem, []).append(file)
    if not runs:
        raise ModelError(
            f"draws= names the folder {folder}, which holds no draws of CmdStan. Expected .csv "
            "files, one per chain, as `output_dir=` of CmdStanPy and CmdStanR leaves them."
        )
    if len(runs) > 1:
        raise ModelError(
            f"draws= names the folder {folder}, which holds the draws of {len(runs)} fits: "
            f"{', '.join(runs)}. Give the files of one, such as {next(iter(runs.values()))[0]}."
        )
    return next(iter(runs.values()))


def _holds_draws(file: Path) -> bool:
    """Whether a CSV file has CmdStan's columns, as those of metrics and profiles have not."""
    with file.open(errors="replace") as lines:
        header = next((line for line in lines if not line.startswith("#")), "")
    return "lp__" in header.split(",")


def _by_number(file: Path) -> tuple[str, int]:
    """Orders chains by their numbers, the tenth after the second."""
    digits = re.search(r"(\d+)(?!.*\d)", file.stem)
    return (file.stem[: digits.start()] if digits else file.stem, int(digits[1]) if digits else 0)
