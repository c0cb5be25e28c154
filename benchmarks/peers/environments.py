"""Environments: one for each program, with its own pinned packages on top of refti's.

An environment is a folder of its own whose packages come first; what a program does not pin, such
as JAX, is taken from the environment that runs the benchmark, so all use the same.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import sysconfig
from pathlib import Path

REQUIREMENTS = Path(__file__).parent / "requirements"
ROOT = Path(__file__).parents[2]


def environment(name: str, folder: Path) -> Path:
    """The Python of an environment, made if it is not there or its pins have changed.

    Raises:
        RuntimeError: its packages cannot be installed; says why.
    """
    pins = REQUIREMENTS / f"{name}.txt"
    if not pins.exists():
        return Path(sys.executable)
    place = folder / name
    python = place / "bin" / "python"
    mark, wanted = place / "ready", hashlib.sha256(pins.read_bytes()).hexdigest()
    if mark.exists() and mark.read_text() == wanted:
        return python
    _run(sys.executable, "-m", "venv", str(place))
    own = next((place / "lib").glob("python*/site-packages"))
    shared = [sysconfig.get_paths()["purelib"], sysconfig.get_paths()["platlib"]]
    (own / "below.pth").write_text("\n".join(dict.fromkeys(shared)) + "\n")
    _run(
        str(python),
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "-r",
        str(pins),
    )
    mark.write_text(wanted)
    return python


def variables() -> dict[str, str]:
    """The variables of a process that runs a program: refti and the benchmarks are found here."""
    here = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    kept = {name: value for name, value in os.environ.items() if not name.startswith("JAX_")}
    return {**kept, "PYTHONPATH": here, "PYTHONUNBUFFERED": "1"}


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise RuntimeError(f"{' '.join(command[:4])} failed: {last}")
