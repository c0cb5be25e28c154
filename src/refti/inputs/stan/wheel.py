"""httpstan's wheel: Stan's sources and libraries, with a C interface of our own."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from refti.executors.user_cache import processor
from refti.inputs.stan.cache import cache_folder, cache_key, make_once
from refti.inputs.stan.cache_care import bound_cache
from refti.inputs.stan.compiler import Compiler, find_compiler
from refti.inputs.stan.precompiled_header import PrecompiledHeader
from refti.inputs.stan.program import Program, stan_version

NATIVE = Path(__file__).parent / "native"
SOURCES = (
    "core.cpp",
    "generated.cpp",
    "precompiled.hpp",
    "program.hpp",
    "same_bits.hpp",
    "solvers.hpp",
)
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
    # An assertion of Eigen ends the process: `[normal_lpdf(...), ...]` of which an element rejects
    # its point leaves a row vector half filled, which is one. Stan checks indices by itself.
    "-DEIGEN_NO_DEBUG",
)
# Only gcc makes the statics of templates unique to the process, so that libraries would share them.
FLAGS_OF = {"gcc": ("-fno-gnu-unique",), "clang": ()}


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
        return f"Stan {stan_version(self.stanc)}"

    @cached_property
    def compiler(self) -> Compiler:
        """The C++ compiler, found when first needed."""
        return find_compiler()

    @property
    def flags(self) -> tuple[str, ...]:
        """What the compiler is told."""
        return (*FLAGS, *FLAGS_OF[self.compiler.kind])

    @property
    def _include(self) -> str:
        return f"-I{self.folder / 'include'}"

    def build(self, program: Program, begin: Callable[[], None]) -> Path:
        """The shared library of a program, from the cache if it was built before."""
        shared = self._shared
        folder = shared / cache_key(program.generated)

        def compile_into(fresh: Path) -> None:
            begin()
            self._compile(program, shared, fresh)
            bound_cache(folder)

        return make_once(folder, compile_into) / LIBRARY

    @property
    def header(self) -> PrecompiledHeader:
        """What all programs include, for those to come."""
        return PrecompiledHeader(self._shared, NATIVE, self.compiler, (*self.flags, self._include))

    @property
    def _shared(self) -> Path:
        """The folder of all that is compiled alike."""
        return cache_folder() / self._key

    @property
    def _key(self) -> str:
        try:
            package = version("httpstan")
        except PackageNotFoundError:
            package = str(self.folder)
        native = [(NATIVE / name).read_bytes() for name in SOURCES]
        compiler = self.compiler
        return cache_key(
            package, *compiler.command, compiler.version, *self.flags, processor(), *native
        )

    def _compile(self, program: Program, shared: Path, into: Path) -> None:
        """Compiles the program and, the first time, the core, side by side; then links both."""
        (into / "generated.hpp").write_text(program.generated, encoding="utf-8")
        # Where the precompiled header is ready it is found first; parsing it takes half the time.
        header = self.header
        found_first = [f"-I{header.folder}"] if header.is_ready() else []
        with ThreadPoolExecutor(2) as both:
            core = both.submit(make_once, shared / "core", self._compile_core)
            self.compiler.run(
                *self.flags,
                *found_first,
                f"-I{NATIVE}",
                self._include,
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
        source, wanted = NATIVE / "core.cpp", into / "core.o"
        self.compiler.run(*self.flags, self._include, "-c", source, "-o", wanted)
