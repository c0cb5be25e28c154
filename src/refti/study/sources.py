"""Models of a study from their files, which must be those on record."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from refti.errors import StoreError
from refti.models.model import Model


def build_model(
    source: Mapping[str, Any], *, check_prior: bool = True, split_prior: bool = False
) -> Model:
    """The model, made from its files. Raises StoreError if one is not what is on record.

    Args:
        source: where it is from.
        check_prior: as in `from_stan`.
        split_prior: whether a Stan program's prior is wanted by itself.
    """
    require_unchanged(source)
    program = source["files"]["program"]["path"]
    if source["kind"] == "python":
        from refti.inputs.named import from_name

        return from_name(f"{program}:{source['object']}")
    from refti.inputs.stan import from_stan

    data, prior = (source["files"].get(role, {}).get("path") for role in ("data", "prior"))
    more = {} if source["solver_limit"] is None else {"solver_limit": source["solver_limit"]}
    more |= {"check_prior": check_prior, "split_prior": split_prior}
    return from_stan(program, data, prior=prior, progress=False, **more)


def require_unchanged(source: Mapping[str, Any]) -> None:
    """Raises StoreError if a file is gone, or is another than the one on record."""
    for file in source["files"].values():
        try:
            found = hashlib.sha256(Path(file["path"]).read_bytes()).hexdigest()
        except OSError as error:
            raise StoreError(f"{file['path']} cannot be read: {error}.") from error
        if found != file["sha256"]:
            raise StoreError(
                f"{file['path']} was changed: its sha256 is {found[:12]}…, that on record "
                f"{file['sha256'][:12]}…. Put the file back, or begin a study of the new one in "
                "another folder."
            )


def require_safe(source: Mapping[str, Any], store: Path) -> None:
    """Raises StoreError if a program that a folder names may not be run.

    A Python file is run and a Stan program is compiled, so a folder that somebody else wrote must
    not decide which: they must lie outside of it and belong to this user, or to the system.
    """
    for file in source["files"].values():
        path = Path(file["path"]).resolve()
        if path.is_relative_to(store.resolve()):
            raise StoreError(
                f"{path} lies inside the folder of the study, from which nothing is run. Move it "
                "elsewhere and begin the study anew."
            )
        require_own(path)


def require_own(path: Path) -> None:
    """Raises StoreError if a file belongs to another user, or anybody may change it."""
    try:
        found = path.stat()
    except OSError as error:
        raise StoreError(f"{path} cannot be read: {error}.") from error
    if found.st_uid not in (0, os.getuid()):
        raise StoreError(
            f"{path} belongs to another user (number {found.st_uid}), so it is not run. Copy it, "
            "see that it is what you want to run, and begin a study with the copy."
        )
    if found.st_mode & stat.S_IWOTH:
        raise StoreError(
            f"{path} can be changed by anybody, so it is not run. Run chmod o-w {path}."
        )
