"""Toolchains: how a Stan program becomes a shared library with BridgeStan's C interface."""

from __future__ import annotations

import fcntl
import os
import shlex
import subprocess
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol

from refti.errors import ModelError
from refti.inputs.stan.cache import cache_folder, key, made
from refti.inputs.stan.compiler import Compiler, find_compiler, processor, run
from refti.inputs.stan.program import Program

NATIVE = Path(__file__).parent / "native"
SOURCES = ("core.cpp", "generated.cpp", "precompiled.hpp", "program.hpp", "solvers.hpp")
LIBRARY = "program.so"
LIBRARIES = ("tbb", "sundials_cvodes", "sundials_idas", "sundials_kinsol", "sundials_nvecserial")
FLAGS = (
    "-std=c++17",
    "-O3",
    "-march=native",
    "-fPIC",
    "-fvisibility=hidden",
    "-w",
    "-D_REENTRANT",
    "-DSTAN_THREADS",
    "-DBOOST_DISABLE_ASSERTS",
)
# Only gcc makes the statics of templates unique to the process, so that libraries would share them.
FLAGS_OF = {"gcc": ("-fno-gnu-unique",), "clang": ()}


class Toolchain(Protocol):
    """What checks and compiles programs."""

    @property
    def stanc(self) -> Path:
        """Stan's own compiler, from Stan to C++."""
        ...

    @property
    def name(self) -> str:
        """What it is, in words."""
        ...

    def build(self, program: Program, begin: Callable[[], None]) -> Path:
        """The shared library of a program, from the cache if it was built before.

        `begin` is called where it has to be compiled.
        """
        ...


def find_toolchain() -> Toolchain:
    """BridgeStan's sources where BRIDGESTAN names them, those in httpstan's wheel otherwise."""
    sources = os.environ.get("BRIDGESTAN")
    if sources:
        return BridgeStan(Path(sources))
    found = find_spec("httpstan")  # which does not import it
    if found is None or not found.submodule_search_locations:
        raise ModelError(
            "Stan programs need the Stan sources, which refti takes from the package httpstan. "
            'Install it by: pip install "refti[stan]"'
        )
    return Wheel(Path(found.submodule_search_locations[0]))


@dataclass(frozen=True)
class Wheel:
    """The sources and libraries in httpstan's wheel, with a C interface of our own."""

    folder: Path

    @property
    def stanc(self) -> Path:
        """Stan's own compiler, from Stan to C++."""
        return self.folder / "stanc"

    @property
    def name(self) -> str:
        """What it is, in words."""
        return f"Stan {_stan_version(self.stanc)}"

    @cached_property
    def compiler(self) -> Compiler:
        """The C++ compiler, found when first needed."""
        return find_compiler()

    @property
    def flags(self) -> tuple[str, ...]:
        """What the compiler is told."""
        return (*FLAGS, *FLAGS_OF[self.compiler.kind])

    def build(self, program: Program, begin: Callable[[], None]) -> Path:
        """The shared library of a program, from the cache if it was built before."""
        shared = cache_folder() / self._key
        folder = shared / key(program.generated)

        def compile_into(fresh: Path) -> None:
            begin()
            self._compile(program, shared, fresh)

        return made(folder, compile_into) / LIBRARY

    @property
    def _key(self) -> str:
        try:
            package = version("httpstan")
        except PackageNotFoundError:
            package = str(self.folder)
        native = [(NATIVE / name).read_bytes() for name in SOURCES]
        compiler = self.compiler
        return key(package, *compiler.command, compiler.version, *self.flags, processor(), *native)

    def _compile(self, program: Program, shared: Path, into: Path) -> None:
        """The program's own part and, the first time, the core, side by side; then both linked."""
        (into / "generated.hpp").write_text(program.generated, encoding="utf-8")
        # Where the precompiled header is ready it is found first; parsing it takes half the time.
        header = [f"-I{shared / 'header'}"] if self._header_is_ready(shared) else []
        with ThreadPoolExecutor(2) as both:
            core = both.submit(made, shared / "core", self._compile_core)
            self.compiler.run(
                *self.flags,
                *header,
                f"-I{NATIVE}",
                f"-I{self.folder / 'include'}",
                f'-DREFTI_GENERATED="{into / "generated.hpp"}"',
                "-c",
                NATIVE / "generated.cpp",
                "-o",
                into / "generated.o",
            )
            objects = [into / "generated.o", core.result() / "core.o"]
        libraries = self.folder / "lib"
        self.compiler.run(
            "-shared",
            *objects,
            "-o",
            into / LIBRARY,
            f"-L{libraries}",
            f"-Wl,-rpath,{libraries}",
            *(f"-l{library}" for library in LIBRARIES),
        )
        objects[0].unlink()

    def _compile_core(self, into: Path) -> None:
        include = f"-I{self.folder / 'include'}"
        self.compiler.run(*self.flags, include, "-c", NATIVE / "core.cpp", "-o", into / "core.o")

    def _header_is_ready(self, shared: Path) -> bool:
        """Whether the precompiled header is there; if not, it is begun, for programs to come.

        It takes longer to make than a program, so the first does not wait for it; those that come
        while it is made do. The child holds the lock, so that there is one of them, and renames
        the header when it is whole.
        """
        folder = shared / "header"
        ready = folder / "precompiled.hpp.gch"
        if ready.exists() or self.compiler.kind != "gcc":
            return ready.exists()
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with (folder / ".lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                fcntl.flock(lock, fcntl.LOCK_SH)
                return ready.exists()
            for file in ("precompiled.hpp", "program.hpp"):
                (folder / file).write_bytes((NATIVE / file).read_bytes())
            growing = folder / ".precompiled.hpp.gch"
            command = [*self.compiler.command, *self.flags, f"-I{self.folder / 'include'}"]
            command += ["-x", "c++-header", str(folder / "precompiled.hpp"), "-o", str(growing)]
            rename = ["mv", str(growing), str(ready)]
            _in_background(f"{shlex.join(command)} && {shlex.join(rename)}", lock.fileno())
        return False


@dataclass(frozen=True)
class BridgeStan:
    """BridgeStan's sources, which build the library by their own Makefile."""

    folder: Path

    def __post_init__(self) -> None:
        if not (self.folder / "Makefile").is_file():
            raise ModelError(
                f"BRIDGESTAN names {self.folder}, which holds no BridgeStan sources (no Makefile). "
                "Set it to their folder, or unset it to use those of refti[stan]."
            )

    @property
    def stanc(self) -> Path:
        """Stan's own compiler, from Stan to C++."""
        stanc = self.folder / "bin" / "stanc"
        if not stanc.is_file():
            run(["make", "-C", self.folder, "bin/stanc"], "BridgeStan could not make its stanc")
        return stanc

    @property
    def name(self) -> str:
        """What it is, in words."""
        return f"Stan {_stan_version(self.stanc)} by BridgeStan"

    def build(self, program: Program, begin: Callable[[], None]) -> Path:
        """The shared library of a program, from the cache if it was built before."""
        compiler = find_compiler()
        shared = key(str(self.folder.resolve()), self.name, *compiler.command, compiler.version)
        folder = cache_folder() / shared / key(program.generated)

        def compile_into(fresh: Path) -> None:
            begin()
            self._compile(program, fresh)

        return made(folder, compile_into) / LIBRARY

    def _compile(self, program: Program, into: Path) -> None:
        (into / "program.stan").write_text(program.text, encoding="utf-8")
        library = into / "program_model.so"
        # Its Makefile hands these flags to stanc.
        flags = [f"STANCFLAGS=--include-paths={program.folder}"] if program.folder else []
        command: Sequence[str | Path] = ["make", "-C", self.folder, "STAN_THREADS=true", *flags]
        run([*command, library], "BridgeStan could not compile the program")
        library.rename(into / LIBRARY)


def _stan_version(stanc: Path) -> str:
    return run([stanc, "--version"], "stanc could not be run").split()[1].removeprefix("v")


def _in_background(command: str, lock: int) -> None:
    """Begins a shell command that outlives this process, and holds a lock as long as it runs."""
    subprocess.Popen(
        ["sh", "-c", command],
        pass_fds=[lock],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
