"""The table of `refti run --profile`: its lines fit, and its rows add up to the run."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from made_up_results import COST
from refti.cli.main import commands
from refti.cli.profile import profile_lines
from refti.draws.cost import NOTHING, Cost, StageCost, cost_of, read_cost, stage_cost

MODEL = """
import jax.numpy as jnp
import refti

model = refti.Model(lambda x: -0.5 * jnp.sum((x - 1) ** 2), dim=2)
"""


@pytest.mark.parametrize("width", [60, 80, 200])
def test_every_line_fits_and_rounds_are_one(width: int):
    lines = profile_lines(COST, width)
    assert max(map(len, lines)) <= max(width, 70)
    assert [line.split("  ")[1].strip() for line in lines[1:]] == [
        "finding the modes",
        "sampling in rounds",
        "the run",
        "before it: importing",
    ]
    rounds = lines[2].split()[-5:]
    assert rounds == ["2.50", "0.00", "1.00", "10,000", "100"]


def test_stages_survive_plain_values_and_add_up():
    from dataclasses import asdict

    again = read_cost(json.loads(json.dumps(asdict(COST))))
    assert again == COST
    total = sum(map(cost_of, COST.profile), NOTHING)
    assert total == Cost(10_000, 200, 3.5, 1.5, 4, trace_seconds=0.25)
    assert total - total == NOTHING
    assert read_cost({k: v for k, v in asdict(NOTHING).items() if k != "stages"}) == NOTHING
    assert isinstance(stage_cost("a", total), StageCost)


def test_the_command_prints_it_after_the_answer(tmp_path):
    (tmp_path / "model.py").write_text(MODEL)
    options = ["--kept", "50", "--warmup", "50", "--quiet", "--profile"]
    told = CliRunner().invoke(commands, ["run", f"{tmp_path / 'model.py'}:model", *options])
    answer, table = told.stdout.split("where the time went")
    assert "log z =" in answer
    assert "finding the modes" in table
    assert "before it: importing" in table
