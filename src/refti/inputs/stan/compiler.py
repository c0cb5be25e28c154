"""The C++ compiler: found, tried for its age, and run; what it says is told when it fails."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from refti.errors import ModelError

OLDEST = {"gcc": 8, "clang": 7}  # the first whose C++17 builds Stan
HOW_TO_GET_ONE = (
    "Install one, for example with `apt install g++` (Debian, Ubuntu) or `xcode-select "
    "--install` (macOS), or name it in the environment variable CXX"
)


@dataclass(frozen=True)
class Compiler:
    """A C++ compiler.

    Attributes:
        command: how it is called, with what CXX adds.
        kind: "gcc" or "clang".
        version: as it prints it.
    """

    command: tuple[str, ...]
    kind: str
    version: str

    def run(self, *arguments: str | Path) -> None:
        """Runs the compiler. Raises ModelError, with what it said first, if it fails."""
        run([*self.command, *map(str, arguments)], "The C++ compiler failed")


def find_compiler() -> Compiler:
    """The compiler that CXX names, or the first of g++, clang++ and c++ on the path.

    Raises ModelError, with how to install one, if there is none.
    """
    named = os.environ.get("CXX")
    candidates = [shlex.split(named)] if named else [["g++"], ["clang++"], ["c++"]]
    for command in candidates:
        if command and shutil.which(command[0]):
            return _inspect(tuple(command))
    what = (
        f"CXX names {named!r}, which is not there"
        if named
        else "none of g++, clang++ and c++ is installed"
    )
    raise ModelError(
        f"Stan programs are compiled by a C++ compiler, and none was found: {what}. "
        f"{HOW_TO_GET_ONE}."
    )


@cache
def _inspect(command: tuple[str, ...]) -> Compiler:
    """The compiler behind a command. Raises ModelError if it is too old for Stan."""
    printed = run([*command, "--version"], f"{command[0]} could not be run").strip()
    first = printed.splitlines()[0] if printed else ""
    kind = "clang" if "clang" in printed.lower() else "gcc"
    number = re.search(r"(\d+)\.\d+", re.sub(r"\(.*?\)", "", first))
    if number and int(number[1]) < OLDEST[kind]:
        raise ModelError(
            f"Stan needs C++17, so {kind} {OLDEST[kind]} or later; got {first!r}. {HOW_TO_GET_ONE}."
        )
    return Compiler(command, kind, first)


def run(command: Sequence[str | Path], failed: str, folder: Path | None = None) -> str:
    """What a command prints. Raises ModelError, with the beginning of what it said, if it fails."""
    done = subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, cwd=folder, check=False
    )
    if done.returncode != 0:
        said = (done.stderr.strip() or done.stdout.strip()).splitlines()
        text = "\n".join(said[:20] + (["..."] if len(said) > 20 else []))
        raise ModelError(f"{failed} (exit code {done.returncode}):\n{text}")
    return done.stdout
