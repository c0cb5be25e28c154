"""What `refti doctor` examines: every part is really tried, and says what to do if it fails."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from refti.cli import tried_extras as extras
from refti.cli.findings import Complaint, Finding, State

LEAST_MEMORY = 2.0  # GB: a Stan program takes about 1.5 to compile
LARGE_CACHE = 5.0  # GB


@dataclass(frozen=True)
class Examination:
    """A part, and the function that tries it and says in words what it found.

    Attributes:
        what: the part.
        try_it: of whether to be quick; returns what it found, and raises if the part is broken.
        packages: without which it is not installed.
        extra: of refti that brings them.
    """

    what: str
    try_it: Callable[[bool], str]
    packages: tuple[str, ...] = ()
    extra: str = ""

    def examine(self, quick: bool) -> Finding:
        """The finding; whatever goes wrong is part of it."""
        versions = {package: _version(package) for package in self.packages}
        install = f'Install it with: pip install "refti[{self.extra}]"'
        missing = [package for package, found in versions.items() if found is None]
        if missing:
            return Finding(self.what, State.MISSING, f"no {' and no '.join(missing)}", install)
        names = ", ".join(f"{package} {found}" for package, found in versions.items())
        try:
            found = self.try_it(quick)
        except Exception as error:
            said = f"{type(error).__name__}: {error}"
            advice = _advice(error, install if self.extra else "")
            return Finding(self.what, State.BROKEN, f"{names} {said}".strip(), advice)
        return Finding(self.what, State.WORKS, "; ".join(part for part in (names, found) if part))


def _advice(error: Exception, install: str) -> str:
    if isinstance(error, Complaint):
        return error.advice
    if isinstance(error, ImportError) and install:
        return f"A package is missing or does not fit the others. {install}"
    return "If the message does not say what to do, reinstall the package."


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _python(quick: bool) -> str:
    return f"Python {platform.python_version()} on {platform.system()} {platform.machine()}"


def _cores(quick: bool) -> str:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"{cores} for this process"


def _memory(quick: bool) -> str:
    pages, size = os.sysconf("SC_PHYS_PAGES"), os.sysconf("SC_PAGE_SIZE")
    total = pages * size / 1e9
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        available = next(line for line in lines if line.startswith("MemAvailable"))
        free = int(available.split()[1]) / 1e6
    except (OSError, ValueError, StopIteration):  # not on Linux
        free = total
    if free < LEAST_MEMORY:
        raise Complaint(
            f"{free:.1f} GB free of {total:.1f}",
            "Close other programs, or run on a larger machine: a Stan program takes about 1.5 GB "
            "to compile.",
        )
    return f"{free:.1f} GB free of {total:.1f}"


def _precision(quick: bool) -> str:
    import jax
    import jax.numpy as jnp

    with jax.enable_x64(True):
        step = float(jax.jit(lambda x: x + 1e-12)(jnp.asarray(1.0, dtype="float64")))
    if step == 1.0:
        raise Complaint(
            f"{jax.default_backend()} computes with 32-bit numbers only",
            "Set JAX_PLATFORMS=cpu: refti needs 64-bit numbers.",
        )
    devices = ", ".join(sorted({device.platform for device in jax.devices()}))
    return f"64-bit numbers on {devices}"


def _evidence(quick: bool) -> str:
    if quick:
        return "not tried (--quick)"
    import numpy as np

    import refti

    begun = time.perf_counter()
    model = refti.Model(lambda x: -0.5 * (x**2).sum(), dim=1)
    found = refti.evidence(model, target_error=0.5, search="quick", progress=False)
    truth = 0.5 * np.log(2 * np.pi)
    if abs(found.log_z - truth) > 6 * found.error + 1e-6:
        raise Complaint(
            f"log z of a standard normal is {found.log_z:.4f}, not {truth:.4f}",
            "Do not use this installation; reinstall refti and jax, and report this.",
        )
    return f"a standard normal is right, in {time.perf_counter() - begun:.0f} s"


def _cache(quick: bool) -> str:
    from refti.inputs.stan.cache import cache_folder

    folder = cache_folder()
    size = sum(f.stat().st_size for f in folder.rglob("*") if f.is_file()) / 1e9
    programs = len({f.parent for f in folder.glob("*/*/complete")})
    told = f"{size:.2f} GB in {folder}, {programs} compiled Stan programs and parts"
    if size > LARGE_CACHE:
        raise Complaint(
            told, f"Delete {folder} to free the space; programs are then compiled again."
        )
    return told


def _kept_programs(quick: bool) -> str:
    from refti.sampling.kept_programs import why_not_kept
    from refti.sampling.program_files import programs_kept, programs_place

    why_not = why_not_kept()
    if "would be executed" in why_not:
        raise Complaint("other users can write to its folder, so it is not used", f"{why_not}.")
    if why_not:
        return f"not in use: {why_not}"
    count, megabytes = programs_kept()
    return f"{count} programs compiled by JAX in {programs_place()}, {megabytes:.1f} MB"


EXAMINATIONS = (
    Examination("refti", lambda quick: f"refti {version('refti')}"),
    Examination("Python", _python),
    Examination("cores", _cores),
    Examination("memory", _memory),
    Examination("precision", _precision, ("jax", "jaxlib")),
    Examination("evidence", _evidence),
    Examination("cache", _cache),
    Examination("compiled", _kept_programs),
    Examination("Stan", extras.try_stan, ("httpstan",), "stan"),
    Examination("PyMC", extras.try_pymc, ("pymc", "numba"), "pymc"),
    Examination("discrete", extras.try_discrete, ("funsor",), "discrete"),
    Examination("flows", extras.try_flow, ("flowjax",), "flow"),
    Examination("report", extras.try_report, ("matplotlib", "jinja2"), "report"),
    Examination("PDF", extras.try_pdf),
    Examination("ArviZ", extras.try_arviz, ("arviz",), "all"),
    Examination("Dask", extras.try_dask, ("distributed", "cryptography"), "dask"),
)
