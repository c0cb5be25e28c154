"""Leases: one at a time, and those of the dead are taken over."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from refti.executors.leases import is_held, leased
from refti.executors.tuning import TUNING


def test_one_at_a_time(tmp_path: Path):
    lease = tmp_path / "lease.json"
    with leased(lease) as first:
        assert first
        assert is_held(lease)
        with leased(lease) as second:
            assert not second
        assert lease.exists()
    assert [*tmp_path.iterdir()] == []
    with leased(lease) as again:
        assert again


def test_a_lease_of_a_process_that_is_gone_is_taken_over(tmp_path: Path):
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    lease = tmp_path / "lease.json"
    lease.write_text(json.dumps({"host": socket.gethostname(), "process": gone.pid}))
    assert not is_held(lease)
    with leased(lease) as ours:
        assert ours
        assert json.loads(lease.read_text())["process"] == os.getpid()


@pytest.mark.parametrize("content", ['{"host": "elsewhere", "process": 1}', "", "[]", "[" * 99_999])
def test_a_lease_from_elsewhere_is_held_until_it_is_stale(content: str, tmp_path: Path):
    lease = tmp_path / "lease.json"
    lease.write_text(content)
    assert is_held(lease)
    old = time.time() - TUNING.stale_seconds - 10
    os.utime(lease, (old, old))
    assert not is_held(lease)


def test_a_lease_that_was_taken_over_is_not_removed(tmp_path: Path):
    lease = tmp_path / "lease.json"
    with leased(lease):
        lease.write_text('{"host": "elsewhere", "process": 1}')
    assert lease.exists()
