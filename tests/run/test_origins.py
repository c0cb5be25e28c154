"""Results say what program they are of, whatever it was written in."""

from __future__ import annotations

import hashlib
import inspect
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist

import refti
from refti.inputs.named import from_name
from refti.run.origins import origin_of


def bell(x):
    return -0.5 * jnp.sum(x**2)


def plain(x):
    return -0.5 * float(np.sum(x**2))


def line(y):
    numpyro.sample("y", dist.Normal(numpyro.sample("x", dist.Normal(0, 1)), 1), obs=y)


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def test_functions_are_told_by_name_and_text():
    for function, model in [
        (bell, refti.Model(bell, dim=2)),
        (plain, refti.from_callable(plain, dim=2)),
    ]:
        wanted = {
            "program": function.__name__,
            "program_sha256": sha256(inspect.getsource(function)),
        }
        assert origin_of(model) == {"kind": "python", **wanted}


def test_a_numpyro_model_is_told_with_its_data():
    told = origin_of(refti.from_numpyro(line, np.ones(3)))
    assert told is not None
    assert (told["kind"], told["program"], told["observed"]) == ("numpyro", "line", {"y": [3]})
    assert told["program_sha256"] == sha256(inspect.getsource(line))


def test_a_file_is_told_by_its_name_and_content(tmp_path: Path):
    text = "import refti\nmodel = refti.Model(lambda x: -0.5 * x @ x, dim=1)\n"
    (tmp_path / "bell.py").write_text(text)
    told = origin_of(from_name(f"{tmp_path / 'bell.py'}:model"))
    assert told == {"kind": "python", "program": "bell.py:model", "program_sha256": sha256(text)}


def test_functions_without_a_text_have_a_name_alone():
    typed = {"jnp": jnp}
    exec("def typed_in(x):\n    return -0.5 * jnp.sum(x**2)", typed)
    told = origin_of(refti.Model(typed["typed_in"], dim=1))
    assert told == {"kind": "python", "program": "typed_in"}
