"""BridgeStan: its own sources and Makefile, where the environment names them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from refti.errors import ModelError
from refti.inputs.stan.cache import cache_folder, cache_key, make_once
from refti.inputs.stan.cache_care import bound_cache
from refti.inputs.stan.compiler import find_compiler, run
from refti.inputs.stan.program import Program, stan_version

LIBRARY = "program.so"


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
        return f"Stan {stan_version(self.stanc)} by BridgeStan"

    def build(self, program: Program, begin: Callable[[], None]) -> Path:
        """The shared library of a program, from the cache if it was built before."""
        compiler = find_compiler()
        shared = cache_key(
            str(self.folder.resolve()), self.name, *compiler.command, compiler.version
        )
        folder = cache_folder() / shared / cache_key(program.generated)

        def compile_into(fresh: Path) -> None:
            begin()
            self._compile(program, fresh)
            bound_cache(folder)

        return make_once(folder, compile_into) / LIBRARY

    def _compile(self, program: Program, into: Path) -> None:
        (into / "program.stan").write_text(program.text, encoding="utf-8")
        library = into / "program_model.so"
        # Its Makefile hands these flags to stanc.
        flags = [f"STANCFLAGS=--include-paths={program.folder}"] if program.folder else []
        command: Sequence[str | Path] = ["make", "-C", self.folder, "STAN_THREADS=true", *flags]
        run([*command, library], "BridgeStan could not compile the program")
        library.rename(into / LIBRARY)
