"""The examples: radiata models from every source, by the command line, give the exact values."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from refti.cli.main import commands
from refti.paper.radiata.model import EXACT_LOG_Z

MODELS = Path(__file__).parents[1] / "examples" / "radiata" / "models.py"


@pytest.mark.parametrize(
    "source",  # tests/inputs has evidences of radiata models from NumPyro, and of Python functions
    ["stan", *(pytest.param(one, marks=pytest.mark.long) for one in ("numpyro", "pymc", "python"))],
)
def test_both_radiata_models_from_every_source(source: str):
    targets = [f"{MODELS}:{source}_{name}" for name in EXACT_LOG_Z]
    options = ["--json", "--no-prior-check", "--data-name", "pine"]  # one outcome, two covariates
    done = CliRunner().invoke(commands, ["run", *targets, *options], standalone_mode=False)
    assert done.return_value == 0, done.output
    results = json.loads(done.stdout)["results"]
    for name, exact in EXACT_LOG_Z.items():
        result = results[f"{source}_{name}"]
        assert abs(result["value"] - exact) < 4 * result["error"]
        assert result["error"] <= 0.05
