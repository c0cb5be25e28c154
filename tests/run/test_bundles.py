"""Bundles: whole or not there, whoever kills the writer, and however many there are."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from refti.results.files import sha256
from refti.run.store.bundles import Bundles, Entry, remove_leftovers

# Writes bundles of a growing size without end; says so once it has begun.
WRITER = """
import sys
from pathlib import Path
from refti.results.files import sha256
from refti.run.store.bundles import Bundles, Entry

bundles = Bundles(Path(sys.argv[1]))
number = len(bundles.names)
print("ready", flush=True)
while True:
    content = str(number).encode() * 50_000
    bundles.add([(Entry(f"content {number}", sha256(content)), content)], {"number": number})
    number += 1
"""


def test_a_writer_killed_at_any_moment_leaves_whole_bundles(tmp_path: Path):
    for turn in range(8):
        writer = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(tmp_path)], stdout=subprocess.PIPE
        )
        assert writer.stdout is not None
        writer.stdout.readline()
        time.sleep(0.01 + 0.013 * turn)  # somewhere in its writes, another place each time
        writer.send_signal(signal.SIGKILL)
        writer.wait()
        remove_leftovers(tmp_path)
        bundles = Bundles(tmp_path)
        assert list(bundles.verify()) == []
        names = [f"content {number}" for number in range(len(bundles.names))]
        assert sorted(bundles.names) == sorted(names)  # none lost, none twice, none torn
        for number, name in enumerate(names):
            found = bundles.find(name)
            assert found is not None
            assert found[1] == str(number).encode() * 50_000
        assert not list(tmp_path.glob(".*"))
    assert len(names) > 8


def test_the_digest_does_not_depend_on_how_contents_are_bundled(tmp_path: Path):
    contents = [(Entry(f"name {i}", sha256(bytes([i]))), bytes([i])) for i in range(6)]
    for folder, cut in ((tmp_path / "a", 2), (tmp_path / "b", 5)):
        folder.mkdir()
        bundles = Bundles(folder)
        bundles.add(contents[:cut], {})
        bundles.add(contents[cut:], {})
    digests = {Bundles(tmp_path / place).digest for place in "ab"}
    assert len(digests) == 1
    (tmp_path / "c").mkdir()
    other = Bundles(tmp_path / "c")
    other.add([*contents[:5], (Entry("name 5", sha256(b"x")), b"x")], {})
    assert Bundles(tmp_path / "c").digest not in digests


def test_what_another_process_adds_is_taken_in(tmp_path: Path):
    mine, theirs = Bundles(tmp_path), Bundles(tmp_path)
    theirs.add([(Entry("a", sha256(b"1")), b"1")], {})
    assert mine.find("a") is None
    mine.refresh()
    found = mine.find("a")
    assert found is not None
    assert found[1] == b"1"


@pytest.mark.parametrize("name", ["../../escaped", 'a"b<script>', "x" * 300, "\x1b[2J", ""])
def test_names_never_become_paths(tmp_path: Path, name: str):
    (tmp_path / "blocks").mkdir()
    bundles = Bundles(tmp_path / "blocks")
    bundles.add([(Entry(name, sha256(b"1")), b"1")], {})
    assert {file.parent for file in tmp_path.rglob("*") if file.is_file()} == {tmp_path / "blocks"}
    found = Bundles(tmp_path / "blocks").find(name)
    assert found is not None
    assert found[1] == b"1"


def test_leftovers_of_live_processes_stay(tmp_path: Path):
    (tmp_path / f".a.zip.{os.getpid()}").write_bytes(b"")
    remove_leftovers(tmp_path)
    assert len(list(tmp_path.iterdir())) == 1
