"""The precompiled header: all that generated code includes, parsed once for many programs."""

from __future__ import annotations

import fcntl
import shlex
import subprocess
from dataclasses import dataclass
from pathlib import Path

from refti.inputs.stan.cache import COMPLETE, digest, require_own
from refti.inputs.stan.compiler import Compiler
from refti.inputs.stan.tuning import TUNING

FILES = ("precompiled.hpp", "program.hpp", "same_bits.hpp")

DIGEST, LOCK = "digest", ".lock"


@dataclass(frozen=True)
class PrecompiledHeader:
    """A header that is made in the background, for programs to come.

    Attributes:
        shared: the folder of all that is compiled by one compiler with the same flags.
        sources: where the header's own files are.
        compiler: of which only gcc is asked for one.
        flags: those that programs are compiled with.
    """

    shared: Path
    sources: Path
    compiler: Compiler
    flags: tuple[str, ...]

    @property
    def folder(self) -> Path:
        """Where the header is, to be searched before `sources`."""
        return self.shared / "header"

    def is_ready(self, *, many_to_come: bool = False) -> bool:
        """Whether the header is there; if not, it may be begun here.

        It takes longer to make than a program, so the one that begins it does not wait for it;
        those that come while it is made do.

        Args:
            many_to_come: whether it is worth its while in any case.
        """
        ready = self.folder / "precompiled.hpp.gch"
        if self._is_there(ready):
            return True
        is_worth = many_to_come or self._is_worth_its_while()
        if self.compiler.kind != "gcc" or not (is_worth or (self.folder / LOCK).exists()):
            return False
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with (self.folder / LOCK).open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                fcntl.flock(lock, fcntl.LOCK_SH)
                return self._is_there(ready)
            if is_worth and not self._is_there(ready):
                self._begin(ready, lock.fileno())
                return False
        return self._is_there(ready)

    def _is_there(self, ready: Path) -> bool:
        """Whether the header is there and is the one that was made.

        Raises ModelError if others own it or can write to it: what it holds is compiled.
        """
        if not ready.exists():
            return False
        require_own(self.folder, *self.folder.iterdir())
        mark = self.folder / DIGEST
        return mark.exists() and mark.read_text().split()[:1] == [digest(ready)]

    def _is_worth_its_while(self) -> bool:
        built = sum(1 for _ in self.shared.glob(f"[!.]*/{COMPLETE}"))
        return built - (self.shared / "core" / COMPLETE).exists() >= TUNING.programs_before_header

    def _begin(self, ready: Path, lock: int) -> None:
        """Starts the compiler; it holds the lock, and the header is renamed when it is whole."""
        for file in FILES:
            (self.folder / file).write_bytes((self.sources / file).read_bytes())
        growing = ready.with_name(f".{ready.name}")
        command = [*self.compiler.command, *self.flags, "-x", "c++-header"]
        command += [str(self.folder / FILES[0]), "-o", str(growing)]
        file, mark = shlex.quote(str(growing)), shlex.quote(str(self.folder / DIGEST))
        summed = f"{{ sha256sum {file} || shasum -a 256 {file}; }} > {mark}"
        rename = shlex.join(["mv", str(growing), str(ready)])
        _run_in_background(f"umask 077; {shlex.join(command)} && {summed} && {rename}", lock)


def _run_in_background(command: str, lock: int) -> None:
    """Begins a shell command that outlives this process, and holds a lock as long as it runs."""
    subprocess.Popen(
        ["sh", "-c", command],
        pass_fds=[lock],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
