"""Every model can be made again in another process, to the last bit, or says why not."""

import io
import json
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
import numpyro
import pytest
from numpyro import distributions as dist

import refti
from refti.models.recipe import Recipe

RADIATA = Path(__file__).parents[2] / "examples" / "radiata"
Y = np.array([0.3, -1.2, 0.8, 2.1])
SUPPORTS = {
    "a": refti.real(shape=(2,)),
    "b": refti.positive(),
    "c": refti.lower(0.0),
    "d": refti.upper(2.5),
    "e": refti.interval(-1.0, 3.0, shape=(1,)),
    "f": refti.simplex(3),
    "g": refti.ordered(2),
    "h": refti.correlation_cholesky(2),
}


def log_prior(values):
    return -0.5 * sum(jnp.sum(value**2) for value in values.values())


def log_likelihood(values):
    return -0.5 * jnp.sum((Y - values["b"]) ** 2)


def hierarchy(scales, y=None):
    mu = numpyro.sample("mu", dist.Normal(0.0, 2.0))
    with numpyro.plate("groups", len(scales)):
        numpyro.sample("y", dist.Normal(mu, scales), obs=y)


def black_box(x):
    return -0.5 * float(np.sum(x**2)) - abs(x[0])


def named() -> refti.Model:
    return refti.Model(log_density=lambda x: -jnp.sum(jnp.cosh(x)), dim=2)


def in_notebook() -> refti.Model:
    shift = np.array([0.25, -1.0])
    return refti.Model(lambda x: -0.5 * jnp.sum((x - shift) ** 4), dim=2)


def split() -> refti.Model:
    return refti.Model(log_prior=log_prior, log_likelihood=log_likelihood, parameters=SUPPORTS)


def in_pymc() -> refti.Model:
    pymc = pytest.importorskip("pymc")
    with pymc.Model() as model:
        mu = pymc.Normal("mu", 0.0, 2.0)
        pymc.Normal("y", mu, 1.0, observed=Y)
    made = refti.from_pymc(model)
    with model:
        pymc.Potential("too_late", -(mu**2))
    return made


def in_stan() -> refti.Model:
    return refti.from_stan(
        RADIATA / "radiata.stan",
        os.path.relpath(RADIATA / "density.json"),
        prior=RADIATA / "prior.stan",
        solver_limit=500,
    )


# Every input, by the way its recipe travels.
BY_WIRE: Mapping[str, Callable[[], refti.Model]] = {"notebook": in_notebook, "PyMC": in_pymc}
BY_FILE: Mapping[str, Callable[[], refti.Model]] = {
    "JAX": split,
    "a start": lambda: refti.Model(log_likelihood, {"b": refti.positive()}, start={"b": Y[2]}),
    "the prior": lambda: split().prior_alone(),
    "NumPyro": lambda: refti.from_numpyro(hierarchy, jnp.arange(1, 5), y=Y),
    "a Python function": lambda: refti.from_callable(black_box, dim=3, processes=1),
    "Stan": in_stan,
    "a module": lambda: from_name(f"{__name__}:named"),
}
REBUILD = """
import json, pickle, sys
import numpy as np
from refti.models.recipe import Recipe
found = {}
for name, (recipe, points) in pickle.load(sys.stdin.buffer).items():
    made = Recipe.from_bytes(recipe) if isinstance(recipe, bytes) else Recipe.from_plain(*recipe)
    found[name] = made.build().log_densities(points)
np.savez(sys.stdout.buffer, **found)
"""


def from_name(target: str) -> refti.Model:
    from refti.inputs.named import from_name

    return from_name(target)


def through_a_file(recipe: Recipe) -> tuple[Any, dict[str, np.ndarray]]:
    """The recipe as it is read back from a JSON text and an archive without pickles."""
    values, arrays = recipe.to_plain()
    archive = io.BytesIO()
    np.savez(archive, **arrays)
    archive.seek(0)
    with np.load(archive, allow_pickle=False) as read:
        return json.loads(json.dumps(values, allow_nan=False)), dict(read)


@pytest.mark.slow  # a Stan program and a PyMC model, each built twice
def test_every_input_is_made_again_in_another_process_to_the_last_bit(tmp_path: Path):
    file = tmp_path / "own.py"
    file.write_text("import refti\nmodel = refti.Model(lambda x: -x @ x, dim=2)\n")
    by_file = {name: make() for name, make in BY_FILE.items()}
    by_file["a script"] = from_name(f"{file}:model")
    by_wire = {name: make() for name, make in BY_WIRE.items()}
    models = by_wire | by_file
    rng = np.random.default_rng(3)
    points = {n: m.start + rng.normal(size=(3, m.dim)) for n, m in models.items()}
    work: dict[str, Any] = {
        n: (m.require_recipe().to_bytes(), points[n]) for n, m in by_wire.items()
    }
    for name, model in by_file.items():
        work[name] = (through_a_file(model.require_recipe()), points[name])

    done = subprocess.run(
        [sys.executable, "-c", REBUILD],
        input=pickle.dumps(work),
        capture_output=True,
        check=False,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr.decode()
    found = np.load(io.BytesIO(done.stdout))
    for name, model in models.items():
        expected = model.log_densities(points[name])
        assert np.isfinite(expected).all(), name
        np.testing.assert_array_equal(found[name], expected, err_msg=name)


def test_supports_come_back_from_a_file_as_they_were():
    values, arrays = through_a_file(split().require_recipe())
    read = Recipe.from_plain(values, arrays).keywords["parameters"]
    assert read == SUPPORTS
    assert list(read) == list(SUPPORTS)
    # A positive parameter is mapped by exp, one above zero by exp plus zero: other programs.
    assert [support.made_by[0] for support in read.values()][1:3] == ["positive", "lower"]


def test_what_no_file_can_hold_is_named():
    fine = Recipe("refti.models.model:Model", (), {"log_density": black_box, "start": float("inf")})
    values, arrays = through_a_file(fine)
    assert Recipe.from_plain(values, arrays).keywords == fine.keywords
    bad = Recipe(
        "refti.inputs.numpyro.source:from_numpyro",
        (lambda: None, {"y": [1.0, object()]}),
        {"model": named, "local": in_notebook().density, "texts": np.array([None])},
    )
    with pytest.raises(refti.ModelError) as caught:
        bad.to_plain()
    for words in (
        "argument 1 is a lambda",
        "argument 2['y'][1] is of type object",
        "local is of type TracedDensity",
        "texts is an array of Python objects",
        "at the top level of a module",
    ):
        assert words in str(caught.value)
    assert "model is" not in str(caught.value)


def test_a_file_can_name_no_maker_but_ours():
    values, arrays = split().require_recipe().to_plain()
    with pytest.raises(refti.ModelError, match=r"one of refti's makers.*'os:system'"):
        Recipe.from_plain(values | {"maker": "os:system", "arguments": ["true"]}, arrays)
    with pytest.raises(refti.ModelError, match=r"nowhere:density cannot be imported"):
        Recipe.from_plain(values | {"keywords": {"log_density": {"name": "nowhere:density"}}}, {})
    with pytest.raises(refti.ModelError, match=r"where part of a model was expected"):
        Recipe.from_plain(values | {"keywords": {"log_density": {"pickle": "…"}}}, {})


def test_what_cannot_be_sent_is_told():
    lock = threading.Lock()
    model = refti.Model(lambda x: -x @ x if lock else x, dim=2)
    with pytest.raises(refti.ModelError, match=r"cannot be sent to another process.*lock"):
        model.require_recipe().to_bytes()
    loose = refti.Model.assembled(model.space, model.density, source="JAX")
    assert loose.recipe is None
    with pytest.raises(refti.ModelError, match=r"put together from parts"):
        loose.require_recipe()


def test_data_that_change_afterwards_change_no_recipe():
    start, y = np.zeros(2), Y.copy()
    model = refti.Model(black_box_in_jax, dim=2, start=start)
    other = refti.from_numpyro(hierarchy, np.ones(4), y=y)
    start += 1.0
    y += 1.0
    np.testing.assert_array_equal(model.require_recipe().keywords["start"], np.zeros(2))
    np.testing.assert_array_equal(other.require_recipe().keywords["y"], Y)


def black_box_in_jax(x):
    return -jnp.sum(jnp.abs(x))
