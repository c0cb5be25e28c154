"""Everything in a run can be written to a file and read back to the bit, and then goes on alike."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import pytest
from numpyro import distributions

import refti
from refti import suite
from refti.checks.ended import Ended
from refti.coordinates.affine import affine
from refti.coordinates.links import Links
from refti.coordinates.map import Map
from refti.coordinates.parabolas import Parabolas
from refti.coordinates.pooling import Pooling
from refti.coordinates.power_tails import PowerTails, RadialTail
from refti.errors import StoreError
from refti.references.registry import FAMILIES
from refti.run import rounds
from refti.run.archive import TREE, WAY, from_bytes, read_value, to_bytes, write_value
from refti.run.choose_coordinates import choose_coordinates
from refti.run.pilot import find_posterior
from refti.run.plan import make_plan
from refti.run.problem import Problem
from refti.run.remote_block import read_block, request_block, run_request
from refti.run.rounds import RunState, next_round
from refti.run.settings import Settings
from refti.run.suitability import adapted_to_models
from refti.sampling.block import run_block
from refti.sampling.computing import computing
from refti.sampling.engine import Engine, open_engine
from refti.sampling.exact_start import count_inside
from refti.sampling.kernels.registry import KERNELS
from refti.sampling.metering import Meter
from refti.sampling.streams import KeyStream, key_of

RADIATA = Path(__file__).parents[2] / "examples" / "radiata"
Y = np.array([0.4, -0.9, 1.7])


def skewed(a, b):
    return 2 * a - jnp.exp(a) - 0.5 * (b - 0.5 * a) ** 2


def log_prior(a, b):
    return -0.5 * (a**2 + b**2) - jnp.log(2 * jnp.pi)


def log_likelihood(a, b):
    return -0.5 * jnp.sum((Y - a) ** 2) - 0.1 * b**4


def normal_mean(y):
    mean = numpyro.sample("mean", distributions.Normal(0.0, 2.0))
    numpyro.sample("y", distributions.Normal(mean, 1.0), obs=y)


def by_values(x):
    return float(2 * x[0] - np.exp(x[0]) - 0.5 * (x[1] - x[0]) ** 2)


def funnel(a, b):
    return -0.5 * (a / 3) ** 2 - 0.5 * a - 0.5 * (b - 1) ** 2 * jnp.exp(-a)


def heavy_tails(a, b):
    return -1.5 * (jnp.log1p((a - 2) ** 2 / 2) + jnp.log1p((b - a / 2) ** 2 / 2))


REALS = {"a": refti.real(), "b": refti.real()}


@cache
def jax_model() -> refti.Model:
    return refti.Model(skewed, REALS)


@cache
def split_model() -> refti.Model:
    return refti.Model(log_prior=log_prior, log_likelihood=log_likelihood, parameters=REALS)


@cache
def numpyro_model() -> refti.Model:
    return refti.from_numpyro(normal_mean, Y)


@cache
def pymc_model() -> refti.Model:
    import pymc

    with pymc.Model() as model:
        mean = pymc.Normal("mean", 0.0, 2.0)
        pymc.Normal("y", mean, 1.0, observed=Y)
    return refti.from_pymc(model)


@cache
def stan_model() -> refti.Model:
    return refti.from_stan(RADIATA / "radiata.stan", RADIATA / "density.json")


@cache
def python_model() -> refti.Model:
    return refti.from_callable(by_values, dim=2)


INPUTS = {
    "jax": jax_model,
    "numpyro": numpyro_model,
    "pymc": pymc_model,
    "stan": stan_model,
    "python": python_model,
}


def problem_of(*models: refti.Model, **settings: Any) -> Problem:
    kind = refti.LogRatio if len(models) > 1 else refti.Evidence
    return Problem(kind, models, adapted_to_models(Settings(**settings), models))


@contextmanager
def engine_of(problem: Problem, **spent: Any) -> Iterator[Engine]:
    with (
        computing(),
        open_engine(
            chains=problem.settings.chains,
            kernel=problem.settings.kernel,
            block_length=problem.block_length,
            seed=problem.settings.seed,
            meter=Meter(**spent),
        ) as engine,
    ):
        yield engine


def begun(problem: Problem) -> RunState:
    """The state of a run that is planned."""
    with engine_of(problem) as engine:
        pilots = [find_posterior(problem, end, engine) for end in problem.ends]
        engine = replace(engine, chains=max(pilot.chains for pilot in pilots))
        return RunState(problem, make_plan(problem, pilots, engine), usage=engine.meter.spent)


@cache
def begun_in_a_funnel() -> RunState:
    """The state of a run that is planned in the coordinates it chose."""
    problem = problem_of(refti.Model(funnel, REALS), **{**SHORT, "warmup": 200, "chains": 8})
    with engine_of(problem) as engine:
        pilot = find_posterior(problem, problem.ends[0], engine)
        reshaped = choose_coordinates(problem, pilot, engine)
        plan = make_plan(reshaped.problem, [reshaped.pilot], engine)
        state = RunState(reshaped.problem, plan, usage=engine.meter.spent)
    assert state.problem.way is not None
    return state


def begun_in_heavy_tails() -> RunState:
    """The same in coordinates that were given to it."""
    tails = PowerTails(np.array([0.5, 0.4]), np.array([0.6, 0.5]))
    way = Map((tails, affine(np.array([2.0, 1.0]), np.array([1.0, 1.3]))), "heavy tails")
    problem = problem_of(refti.Model(heavy_tails, REALS), reference="covariance", **SHORT)
    return begun(replace(problem, way=way))


def engine_for(state: RunState, engine: Engine) -> Engine:
    """The engine with the chains and the kernel that the run came to have by its pilot."""
    last = state.plan.last
    return replace(engine, chains=len(last.state[0]), kernel=KERNELS[last.kernel])


def gone_on(state: RunState) -> RunState:
    """The state after one more round, by an engine that knows of no round before."""
    with engine_of(state.problem, spent=state.usage) as engine:
        return next_round(state, engine_for(state, engine))


def digits(state: RunState) -> list[bytes]:
    """Every number that the draws of a state are made of."""
    return [scan.delta.tobytes() for leg in state.legs for scan in leg.scans]


SHORT = {"kept": 20, "ladder": [0.0, 0.4, 1.0], "warmup": 50, "chains": 4}


def expect_round_trip(state: RunState, path: Path, problem: Problem | None = None) -> RunState:
    """Writes a state, reads it back, and sees that nothing of it has changed."""
    write_value(path, state, state.problem)
    back = read_value(path, state.problem if problem is None else problem)
    assert to_bytes(back, back.problem) == path.read_bytes()
    searched = back.plan.pilot.modes.searched
    assert searched == state.plan.pilot.modes.searched
    assert searched is not None
    return back


# Every family goes to a file and back in tests/laws; these have modes, a mean, and bounds.
KEPT_AS_PLANS = {"laplace_mixture", "covariance", "truncated"}


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=() if n in KEPT_AS_PLANS else pytest.mark.long) for n in FAMILIES],
)
def test_a_plan_from_every_family_comes_back(name: str, tmp_path: Path):
    needs_modes = name == "laplace_mixture"
    model = suite.find("bimodal_2d_10sd_90").model() if needs_modes else jax_model()
    state = begun(problem_of(model, reference=name, **SHORT))
    back = expect_round_trip(state, tmp_path / "plan.npz")
    assert back.plan.choice.family == name
    assert back.plan.why == state.plan.why == f"from the reference {name}: it was asked for"
    x = np.array([0.3, -0.7])
    with computing():
        one, other = (s.plan.choice.reference.log_density(x) for s in (state, back))
    assert float(one) == float(other)


@pytest.mark.parametrize(
    "source",  # tests/models/test_recipe.py makes all of them again
    [
        pytest.param(name, marks=pytest.mark.long if name in ("numpyro", "pymc") else ())
        for name in INPUTS
    ],
)
def test_a_run_of_every_input_goes_on_alike_with_the_model_made_anew(source: str, tmp_path: Path):
    model = INPUTS[source]()
    state = gone_on(begun(problem_of(model, reference="covariance", **SHORT)))
    again = model.recipe.build()
    back = expect_round_trip(
        state, tmp_path / "state.npz", problem_of(again, reference="covariance", **SHORT)
    )
    assert back.plan.path.legs[0].end is again.density
    more = [RunState(s.problem, s.plan, s.legs, usage=s.usage) for s in (state, back)]
    with_more = [gone_on_by_a_scan(s) for s in more]
    assert len(digits(with_more[0])) == len(digits(state)) + 1
    assert digits(with_more[0]) == digits(with_more[1])


def gone_on_by_a_scan(state: RunState) -> RunState:
    from refti.sampling.leg import scan

    with engine_of(state.problem, spent=state.usage) as engine:
        legs = tuple(scan(leg, engine_for(state, engine)) for leg in state.legs)
        return RunState(state.problem, state.plan, legs)


@pytest.mark.parametrize(
    "begin", [pytest.param(begun_in_a_funnel, marks=pytest.mark.long), begun_in_heavy_tails]
)
def test_a_run_in_other_coordinates_goes_on_alike_with_the_model_made_anew(
    begin: Callable[[], RunState], tmp_path: Path
):
    state = gone_on(begin())
    again = replace(state.problem, given=(state.problem.given[0].recipe.build(),), way=None)
    back = expect_round_trip(state, tmp_path / "state.npz", again)
    assert back.problem.given == again.given
    assert back.plan.path.legs[0].end is back.problem.model.density
    x = np.array([[0.3, -0.7], [4.0, 2.0]])
    np.testing.assert_array_equal(back.problem.own_points(x), state.problem.own_points(x))
    assert not np.allclose(back.problem.own_points(x), x)
    with_more = [gone_on_by_a_scan(s) for s in (state, back)]
    assert len(digits(with_more[0])) == len(digits(state)) + 1
    assert digits(with_more[0]) == digits(with_more[1])


class TestCoordinates:
    """The map in a file decides the coordinates of what is read."""

    def every_layer(self) -> Map:
        matrix = np.arange(1.0, 5.0).reshape(2, 2)
        followed = {
            name: matrix[:, :1] / (index + 3)
            for index, name in enumerate(
                ("slopes", "bends", "levels", "steepness", "scale_slopes", "scale_hinges")
            )
        }
        numbers = {"parents": np.array([0]), "mean": matrix[0], "log_scale": matrix[1], "depth": 1}
        tails = PowerTails(np.array([0.1, 0.2]), np.array([0.3, 1 / 3]))
        links = Links(**numbers, **followed)
        pooling = Pooling(matrix[0] / 13, matrix[:, :1] / 17, matrix[1] / 19, matrix[:, 1:] / 23)
        pooled = Links(**numbers, **followed, pooling=pooling)
        bent = Parabolas(matrix[0] / 7, matrix / 9, np.stack([matrix, matrix.T]) / 11, matrix[1])
        layers = RadialTail(np.asarray(0.7)), tails, links, pooled, bent, affine(matrix[0], matrix)
        return Map(layers, "all")

    def test_every_layer_comes_back_to_the_bit(self):
        plain = problem_of(jax_model())
        seen = replace(plain, way=self.every_layer())
        written = to_bytes(RunState(seen, None), seen)
        back = from_bytes(written, plain).problem.way
        assert jax.tree.structure(back) == jax.tree.structure(seen.way)
        for one, other in zip(jax.tree.leaves(back), jax.tree.leaves(seen.way), strict=True):
            assert (one.dtype, one.tobytes()) == (other.dtype, np.asarray(other).tobytes())

    def test_a_problem_that_is_in_them_already_stays_as_it_is(self):
        seen = replace(problem_of(jax_model()), way=self.every_layer())
        assert from_bytes(to_bytes(RunState(seen, None), seen), seen).problem is seen

    def test_without_a_map_they_are_the_models_own(self):
        plain = problem_of(jax_model())
        seen = replace(plain, way=self.every_layer())
        assert from_bytes(to_bytes(RunState(plain, None), plain), seen).problem.way is None

    def test_what_is_no_map_is_refused(self):
        problem = problem_of(jax_model())
        with np.load(io.BytesIO(to_bytes((), problem))) as file:
            arrays = {**file, WAY: np.frombuffer(to_bytes({"a": 1}, problem), dtype=np.uint8)}
        buffer = io.BytesIO()
        np.savez(buffer, **arrays)
        with pytest.raises(StoreError, match="map"):
            from_bytes(buffer.getvalue(), problem)


@pytest.mark.parametrize(
    "problem",
    [
        lambda: problem_of(split_model(), path="power", **SHORT),
        lambda: problem_of(jax_model(), reference=["laplace", 4, split_model()], **SHORT),
        lambda: problem_of(jax_model(), split_model(), **SHORT),
    ],
    ids=["power", "telescopic", "model switch"],
)
def test_a_plan_of_every_path_comes_back(problem: Callable[[], Problem], tmp_path: Path):
    state = begun(problem())
    back = expect_round_trip(state, tmp_path / "plan.npz")
    for one, other in zip(back.plan.path.legs, state.plan.path.legs, strict=True):
        assert (type(one.start), type(one.end)) == (type(other.start), type(other.end))


def test_a_run_that_is_planned_goes_on_alike(tmp_path: Path):
    state = begun(problem_of(jax_model(), reference="covariance", **SHORT))
    one, other = gone_on(state), gone_on(expect_round_trip(state, tmp_path / "plan.npz"))
    assert len(digits(one)) == 1
    assert digits(one) == digits(other)


def test_a_round_taken_up_from_any_of_its_steps_ends_alike(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def counted(leg: Any, engine: Any, round_index: int, usage: Any) -> Any:
        """Counts the share further whatever its error, so that a second time would show."""
        key = engine.key(KeyStream.SUPPORT_SHARE, leg.index, round_index, 0)
        return replace(leg, share=count_inside(leg.leg, leg.share, key, engine)[2])

    monkeypatch.setattr(rounds, "refine_support_share", counted)
    state = begun(problem_of(jax_model(), reference="covariance", **SHORT))
    with engine_of(state.problem, spent=state.usage) as engine:
        steps = list(rounds._steps_of_round(state, engine_for(state, engine)))
    last = steps[-1]
    assert last.legs[0].share.drawn > steps[0].legs[0].share.drawn
    for step in steps[:-1]:
        resumed = gone_on(expect_round_trip(step, tmp_path / "step.npz"))
        assert digits(resumed) == digits(last)
        assert resumed.legs[0].share == last.legs[0].share


def test_a_state_that_was_refitted_and_ended_keeps_what_it_had_before(tmp_path: Path):
    state = gone_on(begun(problem_of(jax_model(), reference="covariance", **SHORT)))
    later = RunState(
        state.problem,
        state.plan,
        refits=1,
        rounds=3,
        usage=state.usage,
        earlier=state,
        finished=True,
        ended=Ended.INTERRUPTED,
    )
    back = expect_round_trip(later, tmp_path / "state.npz")
    assert back.ended is Ended.INTERRUPTED
    assert (back.rounds, back.refits, back.finished) == (3, 1, True)
    assert digits(back.earlier) == digits(state)
    assert back.earlier.conclusion.estimates == state.conclusion.estimates


class TestDamage:
    """A file that is no value of this problem is refused in words, and makes nothing."""

    def content(self, **changes: Any) -> bytes:
        buffer = io.BytesIO()
        np.savez(buffer, **changes)
        return buffer.getvalue()

    def tree(self, value: Any) -> np.ndarray:
        return np.frombuffer(json.dumps(value).encode(), dtype=np.uint8)

    @pytest.mark.parametrize(
        "tree",
        [
            {"record": ["Popen", {"args": "ls"}]},
            {"record": ["Rung", {}]},
            {"place": "model 7"},
            {"array": "missing"},
            {"name": "os:system"},
            {"density": ["Gaussian", {}]},
            [{}],
        ],
    )
    def test_of_the_tree(self, tree: Any):
        content = self.content(**{TREE: self.tree(tree if isinstance(tree, dict) else tree[0])})
        with pytest.raises(StoreError):
            from_bytes(content, problem_of(jax_model()))

    def test_of_the_file(self, tmp_path: Path):
        problem = problem_of(jax_model())
        whole = to_bytes({"a": np.arange(100.0)}, problem)
        for content in (b"", b"no zip", whole[: len(whole) // 2]):
            (tmp_path / "x.npz").write_bytes(content)
            with pytest.raises(StoreError, match=r"x\.npz"):
                read_value(tmp_path / "x.npz", problem)

    def test_objects_are_not_unpickled(self):
        objects = np.array([{"a": 1}], dtype=object)
        content = self.content(**{TREE: self.tree({"array": "x"}), "x": objects})
        with pytest.raises(StoreError):
            from_bytes(content, problem_of(jax_model()))

    def test_a_reference_of_the_users_own_cannot_be_written_but_by_its_place(self):
        class Own:
            """A density that no registry knows."""

        with pytest.raises(StoreError, match="Own"):
            to_bytes(Own(), problem_of(jax_model()))


@pytest.mark.long  # test_recipe.py has all models there, test_spread_blocks.py blocks that are sent
def test_a_block_in_another_process_has_the_same_bits(tmp_path: Path):
    # One process runs the blocks of all inputs, which it makes anew from their recipes.
    import cloudpickle

    requests, expected, problems = [], [], []
    models = jax_model(), stan_model()  # tests/models has recipes of every input
    states = [begun(problem_of(model, reference="covariance", **SHORT)) for model in models]
    for state in (*states, begun_in_a_funnel()):
        problem = state.problem
        leg, rung = state.plan.path.legs[0], state.plan.last
        with computing():
            keys = tuple(key_of(1, KeyStream.SCAN, 0, 0, 0, move) for move in range(2))
            requests.append(request_block(problem, leg, rung, keys, iterations=20))
            expected.append(run_block(leg, rung, keys, iterations=20, meter=Meter()))
            problems.append(problem)
    (tmp_path / "requests").write_bytes(cloudpickle.dumps(requests))
    code = (
        "import sys, cloudpickle\n"
        "from refti.run.remote_block import run_request\n"
        f"sys.path[:0] = [{str(Path(__file__).parent)!r}]\n"
        f"requests = cloudpickle.load(open({str(tmp_path / 'requests')!r}, 'rb'))\n"
        "done = [run_request(request) for request in requests]\n"
        f"cloudpickle.dump(done, open({str(tmp_path / 'done')!r}, 'wb'))\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=300)
    done = cloudpickle.loads((tmp_path / "done").read_bytes())
    for answer, problem, here in zip(done, problems, expected, strict=True):
        there = read_block(answer.content, problem)
        for a, b in zip(there.trace, here.trace, strict=True):
            np.testing.assert_array_equal(a, b)
        for a, b in zip(there.rung.state, here.rung.state, strict=True):
            np.testing.assert_array_equal(a, np.asarray(b))
        assert there.usage.evaluations == here.usage.evaluations > 0
    # And once here, where the problem is unpacked by the same code.
    again = read_block(run_request(requests[0]).content, problems[0])
    np.testing.assert_array_equal(again.trace.delta, expected[0].trace.delta)
