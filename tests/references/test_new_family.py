"""One file and one row make a family: the laws, evidence(), the command line and files know it."""

from __future__ import annotations

import json
import runpy
from dataclasses import replace
from pathlib import Path

import pytest
from benchmarks.settings_tables import tables
from click.testing import CliRunner

import refti
from reference_laws import LAWS, LAWS_ON_A_GRID, SMALL_LOG_Z, Member, small_inputs, small_model
from refti.cli.main import commands
from refti.references import registry

ROW = runpy.run_path(str(Path(__file__).with_name("logistic.py")), run_name="logistic")["ROW"]
MODEL = """
import refti
model = refti.Model(lambda x: -0.5 * (x[0] ** 2 + (x[1] - 2) ** 2 / 9), dim=2)
"""


@pytest.fixture(autouse=True)
def row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(registry.FAMILIES, ROW.name, ROW)


@pytest.fixture(scope="module")
def member() -> Member:
    return Member("logistic", lambda: registry.fit("logistic", small_inputs()))


@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize("law", [*LAWS_ON_A_GRID, *LAWS], ids=lambda law: law.__name__)
def test_it_is_under_all_laws(member: Member, law):
    law(member)


def test_its_evidence_is_right():
    result = refti.evidence(small_model(), reference="logistic", search="quick", progress=False)
    assert result.trusted
    assert abs(result.log_z - SMALL_LOG_Z) < 4 * result.error
    assert result.error < 0.05


def test_the_command_line_accepts_and_lists_it(tmp_path: Path):
    (tmp_path / "model.py").write_text(MODEL)
    target = f"{tmp_path / 'model.py'}:model"
    arguments = ["run", target, "--reference", "logistic", "--kept", "50", "--json"]
    told = json.loads(CliRunner().invoke(commands, arguments, standalone_mode=False).stdout)
    assert told["results"]["model"]["found"]["chosen_reference"] == "logistic"
    assert "logistic" in CliRunner().invoke(commands, ["run", "--help"]).stdout


def test_it_is_documented_by_its_row():
    assert '`"logistic"` | independent logistic densities' in tables()["reference"]
    with pytest.raises(refti.SettingsError, match="'logistic'"):
        refti.evidence(small_model(), reference="logit")


def test_auto_tries_it_when_its_row_says_so(monkeypatch: pytest.MonkeyPatch):
    assert "logistic" not in registry.tried_by_auto("shaped")
    monkeypatch.setitem(registry.FAMILIES, ROW.name, replace(ROW, auto="shaped"))
    assert registry.tried_by_auto("shaped")[-1] == "logistic"


def test_it_is_refused_without_gradients_when_its_row_says_so(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(registry.FAMILIES, ROW.name, replace(ROW, needs_gradient=True))
    model = refti.from_callable(lambda x: -0.5 * float(x[0]) ** 2, dim=1)
    with pytest.raises(
        refti.SettingsError, match=r"'logistic' cannot be used with .* without gradients"
    ):
        refti.evidence(model, reference="logistic", progress=False)
