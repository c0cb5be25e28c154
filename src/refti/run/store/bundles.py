"""Bundles: named contents of a run in files that are whole or not there, whoever kills the writer.

A bundle is two files of one name: the payload, a .zip that is not compressed, and then its receipt,
a .json with the payload's sha256, which makes it count. Many small contents share a bundle, so that
writing never takes longer than computing; what each of them is does not depend on that.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any

from refti.errors import StoreError
from refti.executors.markers import is_alive
from refti.results.files import read_plain_file, write_bytes, write_json

FORMAT = 1
LARGEST_RECEIPT = 64 * 2**20  # bytes; a receipt is about 200 for every content


@dataclass(frozen=True)
class Entry:
    """One content of a bundle.

    Attributes:
        name: what a run asks for it by.
        sha256: of its bytes.
        gradients: evaluations that it took.
        densities: the same of densities.
        seconds: that it took.
    """

    name: str
    sha256: str
    gradients: int = 0
    densities: int = 0
    seconds: float = 0.0


@dataclass(frozen=True)
class Receipt:
    """What a bundle holds, and what else is to be known of the time in which it was made.

    Attributes:
        sha256: of the payload.
        entries: in the order in which they were computed.
        notes: plain values, such as the seconds that the run took since the bundle before.
    """

    sha256: str
    entries: tuple[Entry, ...]
    notes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Damage:
    """A file that cannot be used, and why."""

    file: str
    reason: str

    def __str__(self) -> str:
        return f"{self.file}: {self.reason}"


class Bundles:
    """The bundles of a folder: what is there, read when it is asked for, and what is added."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.receipts: dict[str, Receipt] = {}
        self.damaged: list[Damage] = []
        self._where: dict[str, tuple[str, Entry]] = {}
        self._payload: tuple[str, dict[str, bytes]] = ("", {})  # the one that was read last
        self._lock = Lock()
        self.refresh()

    def refresh(self) -> None:
        """Takes in what others have added."""
        for file in sorted(self.folder.glob("*.json")):
            known = file.stem in self.receipts or file.name in {d.file for d in self.damaged}
            if known or file.name.startswith("."):
                continue
            try:
                receipt = read_receipt(file)
            except StoreError as error:
                self.damaged.append(Damage(file.name, str(error)))
                continue
            self.receipts[file.stem] = receipt
            for entry in receipt.entries:
                self._where.setdefault(entry.name, (file.stem, entry))

    def find(self, name: str) -> tuple[Entry, bytes] | None:
        """A content by its name; None if there is none, or none that is whole."""
        with self._lock:
            stem, entry = self._where.get(name, (None, None))
            if stem is None or entry is None:
                return None
            try:
                return entry, self._contents(stem)[name]
            except StoreError as error:
                self.forget(stem, str(error))
                return None

    def add(self, contents: Sequence[tuple[Entry, bytes]], notes: Mapping[str, Any]) -> None:
        """Writes a bundle: the payload first, then its receipt."""
        stem = f"{len(self.receipts) + 1:06d}-{contents[0][0].sha256[:12]}"
        payload = _pack({entry.name: content for entry, content in contents})
        entries = tuple(entry for entry, _ in contents)
        receipt = Receipt(hashlib.sha256(payload).hexdigest(), entries, notes)
        write_bytes(self.folder / f"{stem}.zip", payload)
        record = {"format": FORMAT, **asdict(receipt)}
        write_json(self.folder / f"{stem}.json", record)
        self.receipts[stem] = receipt
        for entry in entries:
            self._where.setdefault(entry.name, (stem, entry))

    def forget(self, stem: str, reason: str) -> None:
        """Removes a bundle that cannot be used, whose contents are then computed again."""
        if stem not in {Path(damage.file).stem for damage in self.damaged}:
            self.damaged.append(Damage(f"{stem}.zip", reason))
        for suffix in (".json", ".zip"):
            (self.folder / f"{stem}{suffix}").unlink(missing_ok=True)
        receipt = self.receipts.pop(stem, None)
        for entry in () if receipt is None else receipt.entries:
            if self._where.get(entry.name, ("",))[0] == stem:
                del self._where[entry.name]

    def drop_damaged(self) -> None:
        """Removes every bundle that is not as it was written, whether or not it would be read."""
        for damage in [*self.damaged, *self._unreadable()]:
            self.forget(Path(damage.file).stem, damage.reason)

    def verify(self) -> Iterator[Damage]:
        """Every file that is not as it was written, whether or not a run would read it."""
        yield from self.damaged
        yield from self._unreadable()
        known = {f"{stem}{suffix}" for stem in self.receipts for suffix in (".zip", ".json")}
        told = {one.file for one in self.damaged}
        files = sorted(self.folder.iterdir()) if self.folder.is_dir() else []  # they may be deleted
        for file in files:
            if file.name not in known | told and file.suffix != ".zip":
                yield Damage(file.name, "it is not a file of a run")

    @property
    def names(self) -> list[str]:
        """Of all contents, in the order in which they were written."""
        return [e.name for stem in sorted(self.receipts) for e in self.receipts[stem].entries]

    @property
    def digest(self) -> str:
        """The sha256 of all contents by their names, however they are spread over files."""
        total = hashlib.sha256()
        for name in sorted(self._where):
            total.update(f"{name} {self._where[name][1].sha256}\n".encode())
        return total.hexdigest()

    def entry(self, name: str) -> Entry:
        """What is known of a content that is there."""
        return self._where[name][1]

    def __contains__(self, name: str) -> bool:
        return name in self._where

    def _unreadable(self) -> list[Damage]:
        found = []
        for stem in sorted(self.receipts):
            try:
                self._contents(stem)
            except StoreError as error:
                found.append(Damage(f"{stem}.zip", str(error)))
        return found

    def _contents(self, stem: str) -> dict[str, bytes]:
        if self._payload[0] != stem:
            self._payload = stem, _unpack(self.folder / f"{stem}.zip", self.receipts[stem])
        return self._payload[1]


def read_receipt(file: Path) -> Receipt:
    """The receipt of a file. Raises StoreError if it is none."""
    try:
        record = json.loads(read_plain_file(file, LARGEST_RECEIPT))
        if record["format"] != FORMAT:
            raise StoreError(f"is of format {record['format']!r}; this version reads {FORMAT}")
        entries = tuple(
            Entry(
                str(one["name"]),
                str(one["sha256"]),
                int(one["gradients"]),
                int(one["densities"]),
                float(one["seconds"]),
            )
            for one in record["entries"]
        )
        return Receipt(str(record["sha256"]), entries, dict(record["notes"]))
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise StoreError(f"is not a receipt ({type(error).__name__}: {error})") from error


def _pack(contents: Mapping[str, bytes]) -> bytes:
    """A .zip of contents by their places: names are what users may have a say in."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as file:
        for place, content in enumerate(contents.values()):
            file.writestr(zipfile.ZipInfo(str(place)), content)
    return buffer.getvalue()


def _unpack(file: Path, receipt: Receipt) -> dict[str, bytes]:
    """The contents of a payload by name. Raises StoreError if it is not what the receipt says."""
    payload = read_plain_file(file)
    found = hashlib.sha256(payload).hexdigest()
    if found != receipt.sha256:
        raise StoreError(f"its sha256 is {found[:12]}…, and its receipt has {receipt.sha256[:12]}…")
    contents: dict[str, bytes] = {}
    try:
        with zipfile.ZipFile(io.BytesIO(payload)) as archive:
            for place, entry in enumerate(receipt.entries):
                member = archive.getinfo(str(place))
                if member.compress_type != zipfile.ZIP_STORED:  # may unfold to any size
                    raise StoreError("it is compressed, as no bundle of a run is")
                contents[entry.name] = archive.read(member)
                if hashlib.sha256(contents[entry.name]).hexdigest() != entry.sha256:
                    raise StoreError(f"its content {place} is not that of its receipt")
    except (KeyError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise StoreError(f"it is not a payload ({type(error).__name__}: {error})") from error
    return contents


def remove_leftovers(folder: Path) -> None:
    """Removes temporary files of processes of this machine that are no more."""
    for file in folder.glob(".*.*"):
        process = file.name.rpartition(".")[2]
        if process.isdecimal() and not is_alive(int(process)):
            file.unlink(missing_ok=True)
