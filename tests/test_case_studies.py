"""Stan programs in the style of published case studies are taken as they are."""

from __future__ import annotations

import json

import numpy as np
import pytest

import refti
from case_studies import STUDIES, Study
from case_studies.data import STUDIES as MADE

# Each program is compiled, about ten seconds, when it is first seen.
pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("x64")]

RUN = [study for study in STUDIES if study.name in ("changepoint", "fishing", "survival")]


def load(study: Study) -> refti.Model:
    return refti.from_stan(study.program, data=study.data)


@pytest.mark.parametrize("study", STUDIES, ids=lambda study: study.name)
def test_a_program_loads_and_has_a_density_near_the_origin(study: Study):
    model = load(study)
    x = np.random.default_rng(0).uniform(-0.5, 0.5, size=(5, model.dim))
    assert np.all(np.isfinite(model.log_densities(x)))


@pytest.mark.parametrize("study", RUN, ids=lambda study: study.name)
def test_a_program_has_an_evidence_that_is_trusted_or_explained(study: Study):
    result = refti.evidence(load(study), max_evaluations=1_000_000, progress=False)
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
