"""Old files: results that were saved when what a run found stood among its settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from refti.checks.ended import Ended

FOUND = (
    "path",
    "log_z_start",
    "shares",
    "end_shares",
    "rounds",
    "modes",
    "chosen_reference",
    "chosen_because",
    "lengths",
    "source",
    "rejected",
    "ended",
)


def found_in(record: Mapping[str, Any]) -> dict[str, Any]:
    """What the run of a saved result found, whether it stands by itself or among the settings."""
    if "found" in record:
        return dict(record["found"])
    found = {name: record["settings"][name] for name in FOUND if name in record["settings"]}
    sentences = {ended.sentence: ended.value for ended in Ended}
    if "ended" in found:
        found["ended"] = sentences.get(found["ended"], found["ended"])
    return found


def settings_in(record: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a saved result, without what its run found.

    The path that was asked for is not in old files; the one that was taken stands for it.
    """
    if "found" in record:
        return dict(record["settings"])
    return {n: v for n, v in record["settings"].items() if n not in FOUND or n == "path"}
