"""Progress of a study: read from what workers leave, shown as lines or as JSON."""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path
from typing import Any

import pytest

from refti import interruption
from refti.progress import clear_lines
from refti.study.events import ModelState, state_in_folder, state_of_receipt
from refti.study.read import Study
from refti.study.showing import json_lines, plain_lines, showing

SPEC: dict[str, Any] = {"name": "a\x1bb", "folder": "a-1", "settings": {"target_error": 0.1}}


def begin(store: Path, *events: Any) -> None:
    for folder in ("leases", "a-1"):
        (store / folder).mkdir()
    lease = {"host": socket.gethostname(), "process": os.getpid()}
    (store / "leases" / "a-1.json").write_text(json.dumps(lease))
    lines = [event if isinstance(event, str) else json.dumps(event) for event in events]
    (store / "a-1" / "events.jsonl").write_text("\n".join(lines))


def test_a_model_nobody_works_on_waits(tmp_path: Path):
    assert state_in_folder(SPEC, tmp_path).stage == "waiting"


def test_a_model_without_a_log_is_running(tmp_path: Path):
    begin(tmp_path)
    assert state_in_folder(SPEC, tmp_path).stage == "running"


def test_the_last_that_is_known_is_told(tmp_path: Path):
    begin(
        tmp_path,
        {"event": "stage", "time": 100.0, "stage": "pilot"},
        {"event": "stage", "time": 105.0, "stage": "exchange"},
        {"event": "round", "time": 110.0, "round": 2, "log_z": -3.0, "error": 0.2},
        "not json",
        "[" * 5_000,
        3,
        {"event": "round", "time": 120.0, "error": "nan", "log_z": None},
        '{"time": 130, "stage": "cut o',
    )
    state = state_in_folder(SPEC, tmp_path)
    assert (state.stage, state.round, state.log_z, state.error) == ("exchange", 2, -3.0, 0.2)
    # Half the error takes four times the draws: three times what was spent is to come.
    assert state.seconds_left == pytest.approx(60)
    assert state.words() == "exchange, round 2, log z = -3.00 ± 0.20, about 60 s left"


def test_a_round_is_told_once_and_no_time_left_not_at_all():
    state = ModelState("a", "round 2", round=2, log_z=-3.0, error=0.2, seconds_left=0.0)
    assert state.words() == "round 2, log z = -3.00 ± 0.20"


def test_a_process_that_is_ended_at_once_leaves_no_terminal_behind_without_a_cursor(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("FORCE_COLOR", "1")  # which makes it a terminal
    monkeypatch.setenv("TERM", "xterm")
    study = Study(0, tmp_path, (SPEC, {**SPEC, "name": "b"}))
    said = ""
    with showing(study, {}, "rich"):
        while "waiting" not in said:
            said += capsys.readouterr().err
        assert said.rfind(SHOW_CURSOR) > said.rfind(HIDE_CURSOR)
        interruption.ask_to_end()  # from then on nothing is drawn but what is told of the end
        clear_lines()
        interruption.forget()
        assert capsys.readouterr().err.endswith(ONE_LINE_UP_AND_CLEAR)


SHOW_CURSOR, HIDE_CURSOR = "\x1b[?25h", "\x1b[?25l"
ONE_LINE_UP_AND_CLEAR = "\x1b[1A\x1b[2K"


def test_lines_for_logs(capsys: pytest.CaptureFixture[str]):
    states = {
        "a\x1bb": state_of_receipt(
            {"name": "a\x1bb", "trusted": False, "log_z": "nan", "error": 1}
        ),
        "c": ModelState("c", "running"),
    }
    report = plain_lines()
    report(states)
    report(states)
    assert capsys.readouterr().err == "a?b: not trusted, log z = nan ± 1.0\n"
    report = json_lines()
    report(states)
    report({**states, "c": ModelState("c", "running", seconds=3.0)})
    report({**states, "c": ModelState("c", "failed")})
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert [(line["name"], line["stage"]) for line in lines] == [
        ("a\x1bb", "not trusted"),
        ("c", "running"),
        ("c", "failed"),
    ]


def test_the_last_states_are_shown_at_the_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    study = Study(0, tmp_path, (SPEC,))
    over: dict[str, ModelState] = {}
    seen: list[Any] = []
    for progress in (seen.append, "rich", "json", True, False, None):
        over.clear()
        with showing(study, over, progress):  # type: ignore[arg-type]
            over[SPEC["name"]] = ModelState(SPEC["name"], "failed")
    assert seen[-1][SPEC["name"]].stage == "failed"
    said = capsys.readouterr()
    assert '"stage": "failed"' in said.err
    assert "a?b: failed" in said.err
    assert said.out == ""
