"""Files of JSON lines: what was added is read back, and a line cut short is not."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

import refti
from refti.studies import append_record, read_records


def test_records_come_back_and_a_torn_line_is_cut_off(tmp_path: Path):
    path = tmp_path / "deeper" / "records.jsonl"
    records = [{"a": 1.5, "b": [1, 2]}, {"a": math.inf, "b": []}]
    for record in records:
        append_record(path, record)
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"a": 2')
    assert read_records(path, lambda r: float(r["a"])) == [1.5, math.inf]
    assert path.read_bytes() == whole
    assert read_records(tmp_path / "none.jsonl", dict) == []


def test_a_line_of_something_else_is_told_with_its_number(tmp_path: Path):
    path = tmp_path / "records.jsonl"
    path.write_text('{"a": 1}\n{"b": 1}\n')
    with pytest.raises(refti.StoreError, match="Line 2"):
        read_records(path, lambda r: r["a"])
