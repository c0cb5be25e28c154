"""The folder of a study: what is refused, and that a changed or hostile file is noticed."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from refti.errors import RefTIError, StoreError
from refti.study.folder import (
    append_event,
    open_study,
    prepare,
    read_manifest,
    receipt_of,
    write_receipt,
)
from refti.study.read import read_study
from refti.study.shards import parse_shard, work_on
from refti.study.slurm import job_array
from refti.study.sources import build_model, require_safe

STUDY = """
seed = 1
[models."../../x"]
file = "{models}:one"
[models.two]
file = "{models}:two"
"""


@pytest.fixture
def study(tmp_path: Path) -> Path:
    (tmp_path / "models.py").write_text("raise SystemExit('must not be run')\n")
    path = tmp_path / "study.toml"
    path.write_text(STUDY.format(models="models.py"))
    open_study(path)
    return path


def manifest(study: Path) -> Path:
    return study.parent / "study-runs" / "study.json"


def change(study: Path, edit: Any) -> None:
    record = json.loads(manifest(study).read_text())
    edit(record)
    manifest(study).write_text(json.dumps(record))


def test_a_folder_says_what_its_file_said(study: Path):
    there, read = open_study(study.parent / "study-runs"), read_study(study)
    assert (there.seed, there.models) == (read.seed, read.models)
    one = there.store / there.models[1]["folder"]
    one.mkdir()
    assert [spec["name"] for spec in open_study(one).models] == ["two"]
    # Nothing but the study's folder was made, whatever the models are called.
    assert sorted(path.name for path in study.parent.iterdir()) == [
        "models.py",
        "study-runs",
        "study.toml",
    ]


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("seed = 1", "seed = 2", "a study of seed 1, now 2"),
        ("models.py:two", "models.py:three", "its source was"),
        ("[models.two]", "[models.two]\ndata_name = 'x'", "its data_name was None, now x"),
        ("[models.two]", "[models.two]\nsettings = { kept = 99 }", "its settings was {}, now"),
    ],
)
def test_another_study_is_refused_by_what_differs(study: Path, old: str, new: str, words: str):
    study.write_text(study.read_text().replace(old, new))
    before = manifest(study).read_bytes()
    with pytest.raises(StoreError, match=words):
        open_study(study)
    assert manifest(study).read_bytes() == before


def test_a_changed_program_is_refused(study: Path):
    (study.parent / "models.py").write_text("# another\n")
    with pytest.raises(StoreError, match="its source was"):
        open_study(study)
    with pytest.raises(StoreError, match=r"models.py was changed: its sha256"):
        build_model(read_manifest(study.parent / "study-runs").models[0]["source"])
    (study.parent / "models.py").unlink()
    with pytest.raises(StoreError, match="cannot be read"):
        open_study(study.parent / "study-runs")


def test_models_can_be_added_and_left_out(study: Path):
    study.write_text(STUDY.format(models="models.py").replace("two]", "three]"))
    open_study(study)
    names = [spec["name"] for spec in read_manifest(study.parent / "study-runs").models]
    assert names == ["../../x", "three", "two"]


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path, study: Path):
    other = tmp_path / "other"
    other.mkdir()
    (other / "thesis.tex").write_text("years of work")
    spec = read_study(study)
    with pytest.raises(StoreError, match="holds no study"):
        prepare(type(spec)(1, other, spec.models))
    with pytest.raises(StoreError, match=r"holds no study \(study.json\)"):
        open_study(other)
    assert [path.name for path in other.iterdir()] == ["thesis.tex"]


@pytest.mark.parametrize(
    "content",
    ["", "{}", "[]", "null", "3", '{"format": 1}', '{"format": 1, "seed": 1, "models": 3}',
     '{"format": 1, "seed": 1, "models": [{}]}', '{"format": 1, "seed": "x", "models": []}',
     '{"format": 99}', "[" * 100_000, "\x00"],
)  # fmt: skip
def test_a_damaged_manifest_is_told(study: Path, content: str):
    manifest(study).write_text(content)
    with pytest.raises(StoreError):
        open_study(study.parent / "study-runs")


def test_a_newer_format_is_told(study: Path):
    change(study, lambda record: record.update(format=2))
    with pytest.raises(StoreError, match="is of format 2; this version of refti reads format 1"):
        open_study(study)


@pytest.mark.parametrize("folder", ["../escaped", "/tmp/escaped", "..", "x/y", "other"])
def test_a_manifest_cannot_choose_the_folder_of_a_model(study: Path, folder: str):
    change(study, lambda record: record["models"][0].update(folder=folder))
    with pytest.raises(StoreError, match="is damaged"):
        work_on(study.parent / "study-runs")
    assert not (study.parent / "escaped").exists()


def test_nothing_is_run_from_inside_the_folder(study: Path):
    inside = study.parent / "study-runs" / "evil.py"
    inside.write_text("raise SystemExit('it was run')\n")

    def point_inside(record: dict[str, Any]) -> None:
        record["models"][0]["source"]["files"]["program"]["path"] = str(inside)

    change(study, point_inside)
    with pytest.raises(StoreError, match="from which nothing is run"):
        work_on(study.parent / "study-runs")
    link = study.parent / "link.py"
    link.symlink_to(inside)
    source = {"files": {"program": {"path": str(link), "sha256": ""}}}
    with pytest.raises(StoreError, match="from which nothing is run"):
        require_safe(source, study.parent / "study-runs")


def test_programs_that_others_can_change_are_not_run(study: Path, monkeypatch: pytest.MonkeyPatch):
    program = study.parent / "models.py"
    program.chmod(0o666)
    with pytest.raises(StoreError, match="can be changed by anybody"):
        work_on(study.parent / "study-runs")
    program.chmod(0o644)
    manifest(study).chmod(0o666)
    with pytest.raises(StoreError, match=r"study.json can be changed by anybody"):
        work_on(study.parent / "study-runs")
    manifest(study).chmod(0o644)
    # As somebody else would see it.
    monkeypatch.setattr(os, "getuid", lambda: 12345)
    if program.stat().st_uid == 0:
        os.chown(program, 54321, -1)
    with pytest.raises(StoreError, match="belongs to another user"):
        work_on(study.parent / "study-runs")


def test_a_receipt_counts_only_for_its_model_and_result(study: Path):
    there = read_manifest(study.parent / "study-runs")
    one, two = there.models
    for spec in there.models:
        (there.store / spec["folder"]).mkdir()
        (there.store / spec["folder"] / "result.json").write_text("{}")
    assert receipt_of(one, there.store) is None
    write_receipt(one, there.store, {"log_z": 1.0})
    assert receipt_of(one, there.store) is not None
    assert receipt_of({**one, "urgent": True}, there.store) is not None
    assert receipt_of({**one, "seed": 5}, there.store) is None
    assert receipt_of(two, there.store) is None
    (there.store / one["folder"] / "result.json").write_text('{"log_z": 2}')
    assert receipt_of(one, there.store) is None
    for content in ("", "[]", "null", "{}", "[" * 100_000):
        (there.store / "receipts" / f"{two['folder']}.json").write_text(content)
        assert receipt_of(two, there.store) is None


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path, study: Path):
    (tmp_path / "file").write_text("")
    spec = read_study(study)
    with pytest.raises((StoreError, RefTIError)):
        prepare(type(spec)(1, tmp_path / "file" / "store", spec.models))


def test_events_are_lines(study: Path):
    store = study.parent / "study-runs"
    for number in range(3):
        append_event(store, {"event": "begun", "name": f"a\nb{number}"})
    lines = (store / "events.jsonl").read_text().splitlines()
    assert [json.loads(line)["name"] for line in lines] == ["a\nb0", "a\nb1", "a\nb2"]


@pytest.mark.parametrize("text", ["", "1", "0/3", "4/3", "a/b", "1/0", "-1/3", "1/2/3"])
def test_shards_that_are_none(text: str):
    with pytest.raises(RefTIError, match="given as i/n"):
        parse_shard(text)


def test_a_job_array_quotes_what_it_names(tmp_path: Path):
    folder = tmp_path / "a b; rm -rf $HOME 'x' %d"
    text = job_array(folder, shards=7)
    assert "#SBATCH --array=1-7" in text
    command = text.splitlines()[-1].replace("exec ", "printf '%s\\n' ", 1)
    import subprocess

    environment = {"SLURM_ARRAY_TASK_ID": "3", "PATH": os.environ["PATH"]}
    said = subprocess.run(["bash", "-c", command], capture_output=True, text=True, env=environment)
    assert said.stdout.splitlines()[1:] == ["-m", "refti", "worker", str(folder), "--shard", "3/7"]
    for bad in ("4G\nrm", "4 G", "", '4"'):
        with pytest.raises(RefTIError, match="one plain word"):
            job_array(folder, shards=1, memory=bad)
    with pytest.raises(RefTIError, match="one plain word"):
        job_array(tmp_path / "a\nb", shards=1)
