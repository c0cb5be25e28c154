"""study.toml: every fault is told together, by its place in the file."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from benchmarks import study_schema

from refti.errors import SettingsError
from refti.run.settings import Settings
from refti.study.read import read_study
from refti.study.schema import EvidenceSettings

GOOD = """
seed = 7
data_name = "rain"
[settings]
target_error = 0.1
[models."../../x"]
file = "models.py:one"
[models.dry]
file = "models.py:two"
data_name = "drought"
urgent = true
settings = { kept = 200, target_error = 0.2, reference = ["covariance", 4] }
"""


def write(folder: Path, text: str) -> Path:
    (folder / "models.py").write_text("one = two = None\n")
    (folder / "study.toml").write_text(text)
    return folder / "study.toml"


def test_studies_in_the_documentation_can_be_read(tmp_path: Path):
    pages = (Path(__file__).parents[2] / "docs").glob("*.md")
    texts = [
        text for page in pages for text in re.findall(r"```toml\n(.*?)```", page.read_text(), re.S)
    ]
    assert texts
    for name in ("renewal.stan", "rain.json"):
        (tmp_path / name).write_text("{}")
    for text in texts:
        assert len(read_study(write(tmp_path, text)).models) > 1


def test_a_study(tmp_path: Path):
    study = read_study(write(tmp_path, GOOD))
    assert study.seed == 7
    assert study.store == tmp_path / "study-runs"
    first, second = study.models
    assert [first["name"], second["name"]] == ["../../x", "dry"]
    assert (study.store / first["folder"]).resolve().parent == study.store.resolve()
    assert [first["data_name"], second["data_name"]] == ["rain", "drought"]
    assert first["settings"] == {"target_error": 0.1}
    assert second["settings"] == {"target_error": 0.2, "kept": 200, "reference": ["covariance", 4]}
    assert first["seed"] != second["seed"]
    assert first["source"]["files"]["program"]["path"] == str((tmp_path / "models.py").resolve())
    assert json.loads(json.dumps(study.models)) == list(study.models)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ["models: Field required"]),
        ("[models]", ["models"]),
        ("seed = -1\n[models.a]\nfile = 'models.py:one'", ["seed", "greater than or equal to 0"]),
        ("sed = 1\n[models.a]\nfile = 'models.py:one'", ["sed: there is no such key"]),
        ("[models.a]\nfile = 'models.py:one'\n[models.a.settings]\nseed = 3", ["settings.seed"]),
        ("[models.a]\nfile = 'models.py:one'\nkeep = 3", ["models.a.keep: there is no such key"]),
        (
            "[models.a]\nfile = 'models.py:one'\nsettings = { kept = 2.5, chains = 'x' }",
            ["models.a.settings.kept", "models.a.settings.chains", "got 'x'"],
        ),
        ("[models.a]\nfile = 'models.py:one'\nsettings = { kernel = 'nut' }", ["kernel= must be"]),
        ("[models.a]\nfile = 'nowhere.py:one'", ["models.a: There is no file"]),
        ("[models.a]\nfile = 'models.py'", ['Expected file = "FILE.py:NAME"']),
        ("[models.a]\nstan = 'm.stan'\nfile = 'models.py:one'", ["Give one of"]),
        ("[models.a]", ["Give one of"]),
        ("[models.a]\nfile = 'models.py:one'\ndata = 'd.json'", ["for Stan programs"]),
        ('[models.""]\nfile = "models.py:one"', ["must have a name"]),
        (f'[models."{"x" * 300}"]\nfile = "models.py:one"', ["too long"]),
        (r'[models."\u001b[31m"]' + '\nfile = "models.py:one"', ["cannot be printed"]),
        (
            '[models.""]\nfile = "models.py:one"\n[models.b]\nfile = "no.py:x"',
            ["must have a name", "no.py"],
        ),
        ("not toml", ["cannot be read as TOML"]),
    ],
)
def test_faults_are_told_by_their_places(text: str, words: list[str], tmp_path: Path):
    with pytest.raises(SettingsError) as told:
        read_study(write(tmp_path, text))
    for word in words:
        assert word in str(told.value)
    assert all(line.isprintable() for line in str(told.value).split("\n"))
    assert not (tmp_path / "study-runs").exists()


def test_a_study_has_all_settings_that_evidence_has():
    # A study's own seed and data's name stand elsewhere in its file.
    fields = {name for name in Settings.__dataclass_fields__ if name not in ("seed", "data_name")}
    assert set(EvidenceSettings.model_fields) == fields


def test_the_published_schema_is_up_to_date():
    written = study_schema.PAGE.read_text(encoding="utf-8")
    assert written == study_schema.text(), "Say python -m benchmarks.study_schema"
    assert json.loads(written)["additionalProperties"] is False
