"""Progress: one live line, plain lines where there is no terminal, and silence."""

from __future__ import annotations

import io
from types import SimpleNamespace

import pytest

from refti import progress
from refti.progress import Display, Stage, compiling, duration, reporting, shorten, silent


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_DRAWINGS", 0.0)
    stream = Terminal()
    set_stream(monkeypatch, stream)
    return stream


def set_stream(monkeypatch: pytest.MonkeyPatch, stream: io.StringIO) -> None:
    """Has progress go to a stream; pytest sets sys.stderr anew between a fixture and its test."""
    monkeypatch.setattr(progress, "sys", SimpleNamespace(stderr=stream))


def test_one_line_with_the_estimate_is_written_over(terminal: Terminal):
    with Display() as display:
        display("finding the modes", 0, 1)
        display(Stage("round 4", "log z 82.847 ± 0.014 (target 0.002)"), 64, 64)
        display("round 5", 16, 64)
    written = terminal.getvalue()
    assert "\n" not in written
    shown = [part.rstrip() for part in written.split("\r") if part.strip()]
    assert shown == [
        "finding the modes · 0 s",
        "round 4 · log z 82.847 ± 0.014 (target 0.002) · 0 s",
        "round 5, 25 % · log z 82.847 ± 0.014 (target 0.002) · 0 s",
    ]
    assert written.endswith(" \r")  # nothing stays


def test_it_never_breaks_the_line(terminal: Terminal):
    with Display() as display:
        display("a stage of a great many words " * 5, 0, 1)
    assert max(map(len, terminal.getvalue().split("\r"))) < 60


def test_compiling_and_stopping_show(terminal: Terminal):
    with Display() as display:
        with compiling():
            display("finding the modes", 0, 1)
        display.begin("b")
        display("round 1", 1, 2)
        display.stop()
    written = terminal.getvalue()
    assert "finding the modes · compiling · 0 s" in written
    assert "b: round 1, 50 % · 0 s" in written
    assert "stopping · b: round 1, 50 % · 0 s" in written
    assert "compiling" not in written.split("b: round 1")[1]


def test_a_log_gets_plain_lines_now_and_then(monkeypatch: pytest.MonkeyPatch):
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    stream = io.StringIO()
    set_stream(monkeypatch, stream)
    display = Display()
    for done in range(40):
        now[0] += 1.0
        display("round 1", done, 40)
    lines = stream.getvalue().splitlines()
    assert lines[0] == "round 1, 0 % · 1 s"
    assert len(lines) == 4
    assert "\r" not in stream.getvalue()
    display("round 2", 0, 40)  # too soon after the last line
    now[0] += 2.0
    display("round 2", 1, 40)
    assert len(stream.getvalue().splitlines()) == 5


def test_who_is_told(terminal: Terminal, monkeypatch: pytest.MonkeyPatch):
    told: list[tuple[str, int, int]] = []
    with reporting(lambda *said: told.append(said)) as report:
        report(Stage("round 1", "log z 1 ± 1"), 1, 2)
    assert told == [("round 1", 1, 2)]
    with reporting(None) as report:
        assert isinstance(report, Display)
    with reporting(False) as report:
        assert report is silent
    set_stream(monkeypatch, io.StringIO())
    with reporting(None) as report:
        assert report is silent
    with reporting(True) as report:
        assert isinstance(report, Display)


def test_notebooks_have_a_live_line(monkeypatch: pytest.MonkeyPatch):
    stream = type("OutStream", (io.StringIO,), {"__module__": "ipykernel.iostream"})()
    set_stream(monkeypatch, stream)
    with reporting(None) as report:
        report("round 1", 1, 2)
    assert "\rround 1, 50 %" in stream.getvalue()


def test_nobody_there_to_read(monkeypatch: pytest.MonkeyPatch, terminal: Terminal):
    with Display() as display:
        terminal.close()
        display("round 1", 1, 2)


@pytest.mark.parametrize(
    ("seconds", "words"), [(0.4, "0 s"), (119, "119 s"), (185, "3 min 05 s"), (7800, "2 h 10 min")]
)
def test_durations(seconds: float, words: str):
    assert duration(seconds) == words


def test_shortened():
    assert shorten("abcdef", 6) == "abcdef"
    assert shorten("abcdef", 4) == "abc…"
