"""Stan programs in the style of published case studies are taken as they are."""

from __future__ import annotations

import json

import numpy as np
import pytest

import refti
from case_studies import STUDIES, Study
from case_studies.data import STUDIES as MADE
from refti.inputs.stan.data import as_json
from refti.inputs.stan.program import read_program
from refti.inputs.stan.toolchain import find_toolchain

# Compiling takes ten seconds a program, so one stands for all; `make studies` runs every one.
RUN = [study for study in STUDIES if study.name == "changepoint"]


@pytest.mark.parametrize("study", STUDIES, ids=lambda study: study.name)
def test_a_program_and_its_data_are_accepted(study: Study):
    program = read_program(study.program, find_toolchain().stanc)
    assert program.improper == ()
    assert set(json.loads(as_json(program, study.data))) == set(program.data)


@pytest.mark.slow
@pytest.mark.parametrize("study", RUN, ids=lambda study: study.name)
def test_a_program_has_an_evidence_that_is_trusted_or_explained(study: Study):
    model = refti.from_stan(study.program, data=study.data)
    x = np.random.default_rng(0).uniform(-0.5, 0.5, size=(5, model.dim))
    assert np.all(np.isfinite(model.log_densities(x)))
    result = refti.evidence(model, max_evaluations=300_000, progress=False)
    assert np.isfinite(result.log_z)
    assert np.isfinite(result.error)
    assert all(check.advice for check in result.checks if not check.ok)


def test_the_data_are_those_that_the_script_makes():
    assert [study.name for study in STUDIES] == [study.__name__ for study in MADE]
    for seed, (study, make) in enumerate(zip(STUDIES, MADE, strict=True)):
        made, stored = make(np.random.default_rng(seed)), json.loads(study.data.read_text())
        assert made.keys() == stored.keys()
        for name, value in made.items():
            np.testing.assert_allclose(stored[name], value, atol=1e-6)
