"""Kept programs: what JAX compiles for refti is kept on disk, and the next process only reads it.

JAX has a persistent compilation cache of its own; this gives it, while refti computes, a folder
that is checked. A cache that the user set up for JAX is left alone and used as it is.
"""

from __future__ import annotations

import hashlib
import os
import warnings
from importlib.metadata import version
from pathlib import Path
from threading import Lock
from typing import Any

import jax

from refti.executors.user_cache import is_foreign, make_private, processor
from refti.sampling.program_files import ProgramFiles, bound_programs, programs_place

VARIABLE = "REFTI_COMPILATION_CACHE"
OFF = frozenset({"0", "off", "no", "false"})
LEAST_SECONDS = "jax_persistent_cache_min_compile_time_secs"


def why_not_kept() -> str:
    """Why compiled programs are not kept in refti's cache here; empty if they are."""
    if os.environ.get(VARIABLE, "").lower() in OFF:
        return f"{VARIABLE} is {os.environ[VARIABLE]}"
    if jax.config.values["jax_compilation_cache_dir"] is not None:
        return "JAX has been given a compilation cache of its own, which is used"
    if not jax.config.values["jax_enable_compilation_cache"]:
        return "JAX has been told not to use a compilation cache"
    if _jaxs_own() is None:
        return (
            f"JAX {jax.__version__} keeps its compilation cache in a place that this version "
            "of refti does not know"
        )
    try:
        make_private(programs_place())
        foreign = next((f for f in _folders() if f.exists() and is_foreign(f)), None)
    except (OSError, RuntimeError) as error:  # RuntimeError where there is no home
        return f"its folder cannot be made: {error}"
    if foreign is not None:
        return (
            f"other users own {foreign} or can write to it, and its content would be executed. "
            f"Delete it, rm -r {foreign}, and it is made again; or set REFTI_CACHE to another "
            f"folder, or {VARIABLE}=off"
        )
    return ""


class _KeptPrograms:
    """Programs are kept while anybody is inside, and JAX is as before when the last has left.

    JAX has one cache a process, and runs in several threads overlap as they like.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._inside = 0
        self._files: ProgramFiles | None = None
        self._least_seconds = 0.0
        self._told = False

    def __enter__(self) -> None:
        with self._lock:
            if self._inside == 0:
                self._open()
            self._inside += 1

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0 and self._files is not None:
                self._close(self._files)
                self._files = None

    def _open(self) -> None:
        why_not = why_not_kept()
        if "would be executed" in why_not and not self._told:
            self._told = True
            warnings.warn(f"Compiled programs are not kept: {why_not}.", stacklevel=4)
        own = _jaxs_own()
        if why_not or own is None:
            return
        folder = _folders()[-1]
        try:
            make_private(folder)
        except OSError:
            return
        self._files = ProgramFiles(folder)
        # However fast it was compiled: a run has dozens of small programs.
        self._least_seconds = jax.config.values[LEAST_SECONDS]
        jax.config.update(LEAST_SECONDS, 0.0)
        with own._cache_initialized_mutex:
            own._cache, own._cache_initialized = self._files, True

    def _close(self, files: ProgramFiles) -> None:
        own = _jaxs_own()
        if own is not None and own._cache is files:
            own.reset_cache()
        jax.config.update(LEAST_SECONDS, self._least_seconds)
        if files.written:
            bound_programs()


KEPT_PROGRAMS = _KeptPrograms()


def _folders() -> tuple[Path, Path]:
    """The folder of all programs, and that of those which this very installation compiles."""
    place = programs_place()
    return place, place / _identity()


def _identity() -> str:
    """A name for all that compiled programs depend on besides what JAX's own key holds."""
    versions = [f"{name} {version(name)}" for name in ("refti", "jax", "jaxlib")]
    parts = "\n".join([*versions, processor(), os.environ.get("XLA_FLAGS", "")])
    return f"jax-{jax.__version__}-{hashlib.sha256(parts.encode()).hexdigest()[:16]}"


def _jaxs_own() -> Any:
    """JAX's module of the cache; None if it is not as this version of refti knows it."""
    try:
        from jax._src import compilation_cache
    except ImportError:
        return None
    names = ("_cache", "_cache_initialized", "_cache_initialized_mutex", "reset_cache")
    return compilation_cache if all(hasattr(compilation_cache, n) for n in names) else None
