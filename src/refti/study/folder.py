"""The folder of a study: its models, written before any is run, and a receipt for each one done."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from refti.errors import SettingsError, StoreError
from refti.executors.worker_side import worker_name
from refti.results.files import read_json, write_json
from refti.results.text import printable
from refti.study.names import folder_name, name_fault
from refti.study.read import Spec, Study, read_study
from refti.study.sources import require_own, require_safe

MANIFEST = "study.json"
FORMAT = 1


def open_study(path: str | Path) -> Study:
    """The study of a study.toml, whose folder is made ready, or that of such a folder."""
    path = Path(path)
    if path.suffix == ".toml":
        study = read_study(path)
        prepare(study)
        return study
    if path.is_dir() and not (path / MANIFEST).exists() and (path.parent / MANIFEST).exists():
        study = read_manifest(path.parent)
        name = path.resolve().name
        return Study(study.seed, study.store, tuple(m for m in study.models if m["folder"] == name))
    return read_manifest(path)


def prepare(study: Study) -> None:
    """Writes down what the study is.

    Models may be added to a folder, or be left out; one that is there already must be the same.

    Raises:
        StoreError: it is another study's folder, or cannot be written.
    """
    manifest = study.store / MANIFEST
    if manifest.exists():
        known = read_manifest(study.store, safe=False)
        _require_same(study, known)
        names = {spec["name"] for spec in study.models}
        kept = [spec for spec in known.models if spec["name"] not in names]
        study = Study(study.seed, study.store, (*study.models, *kept))
    elif study.store.is_file() or (study.store.is_dir() and any(study.store.iterdir())):
        raise StoreError(f"{study.store} exists and holds no study. Choose an empty or new folder.")
    try:
        for folder in (study.store, study.store / "receipts", study.store / "leases"):
            folder.mkdir(parents=True, exist_ok=True)
        write_json(manifest, {"format": FORMAT, "seed": study.seed, "models": list(study.models)})
    except OSError as error:
        raise StoreError(f"The study cannot be kept in {study.store}: {error}.") from error


def read_manifest(store: Path, *, safe: bool = True) -> Study:
    """The study that a folder holds. Raises StoreError if it cannot be used."""
    manifest = store / MANIFEST
    if not manifest.exists():
        raise StoreError(
            f"{store} holds no study ({MANIFEST}). Give a study.toml, or the folder that refti run "
            "study.toml made."
        )
    if safe:
        require_own(manifest)
    try:
        found = read_json(manifest)
    except RecursionError:
        raise StoreError(f"{manifest} is damaged: it is nested too deep.") from None
    if isinstance(found, Mapping) and found.get("format", 0) != FORMAT:
        raise StoreError(
            f"{manifest} is of format {printable(found.get('format'))}; this version of refti "
            f"reads format {FORMAT}. Use the version that made it."
        )
    try:
        study = Study(int(found["seed"]), store, tuple(_checked(spec) for spec in found["models"]))
    except (KeyError, TypeError, ValueError, AttributeError, SettingsError) as error:
        raise StoreError(
            f"{manifest} is damaged ({type(error).__name__}: {printable(error)}). Make the study "
            "anew in another folder."
        ) from error
    if safe:
        for spec in study.models:
            require_safe(spec["source"], store)
    return study


def _checked(spec: Mapping[str, Any]) -> Spec:
    """The specification of a model, if it can be one; its folder is that of its name, no other."""
    name, source = spec["name"], spec["source"]
    if name_fault(name) is not None or spec["folder"] != folder_name(name):
        raise ValueError("a model's name or folder")
    files = source["files"]
    for file in files.values():
        if not (isinstance(file["path"], str) and isinstance(file["sha256"], str)):
            raise ValueError("a file of a model")
    if source["kind"] not in ("python", "stan") or not files["program"]:
        raise ValueError("the source of a model")
    if source["kind"] == "python" and not source["object"].isidentifier():
        raise ValueError("the name of a model in its file")
    if not isinstance(spec["settings"], dict) or not isinstance(spec["seed"], int):
        raise ValueError("the settings of a model")
    return dict(spec)


def _require_same(study: Study, known: Study) -> None:
    if study.seed != known.seed:
        raise StoreError(
            f"{study.store} holds a study of seed {known.seed}, now {study.seed}. Choose another "
            "folder, or that seed."
        )
    there = {spec["name"]: spec for spec in known.models}
    for spec in study.models:
        before = there.get(spec["name"], spec)
        for field in ("source", "settings", "data_name"):
            if before[field] != spec[field]:
                raise StoreError(
                    f"{study.store} holds another model of the name {printable(spec['name'])}: its "
                    f"{field} was {before[field]}, now {spec[field]}. Choose another folder or "
                    "another name."
                )


def receipt_of(spec: Spec, store: Path) -> dict[str, Any] | None:
    """The receipt of a model that is done, if there is a valid one."""
    try:
        found = read_json(store / "receipts" / f"{spec['folder']}.json")
        valid = found["spec_sha256"] == digest_of(spec) and (
            found["result_sha256"] == result_digest(store / spec["folder"])
        )
    except (StoreError, OSError, KeyError, TypeError, RecursionError):
        return None
    return found if valid else None


def write_receipt(spec: Spec, store: Path, record: Mapping[str, Any]) -> dict[str, Any]:
    """Writes the receipt of a model whose result is in its folder; returns it."""
    receipt = {
        "name": spec["name"],
        "spec_sha256": digest_of(spec),
        "result_sha256": result_digest(store / spec["folder"]),
        **record,
    }
    write_json(store / "receipts" / f"{spec['folder']}.json", receipt)
    return receipt


def append_event(store: Path, event: Mapping[str, Any]) -> None:
    """Adds a line to the study's log: who began or ended which model, and when."""
    line = json.dumps({"time": time.time(), "worker": worker_name(), **event}) + "\n"
    log = os.open(store / "events.jsonl", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
    try:
        os.write(log, line.encode())  # in one piece, so that lines of several writers stay whole
    finally:
        os.close(log)


def digest_of(spec: Spec) -> str:
    """A hash of all that decides a model's result; how urgent it is does not."""
    decides = {key: value for key, value in spec.items() if key != "urgent"}
    return hashlib.sha256(json.dumps(decides, sort_keys=True).encode()).hexdigest()


def result_digest(folder: Path) -> str:
    """A hash of a model's result, which itself holds those of its draws."""
    return hashlib.sha256((folder / "result.json").read_bytes()).hexdigest()
