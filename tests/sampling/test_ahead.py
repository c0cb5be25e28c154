"""What a run is sure to need is compiled beside it, once; trouble there is none of the run's."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.scipy.stats import norm

import refti
from refti.models.compiled import compiled
from refti.sampling import ahead
from refti.sampling.ahead import Call, compiling_ahead
from refti.sampling.metering import Meter

pytestmark = pytest.mark.usefixtures("x64")


class Compilers:
    """Who compiled what: thread and program."""

    def __init__(self) -> None:
        self.seen: Counter[tuple[str, str]] = Counter()
        self.is_on = True

    def hear(self, event: str, seconds: float, fun_name: str = "", **more: object) -> None:
        if self.is_on and event.endswith("backend_compile_duration"):
            self.seen[threading.current_thread().name, fun_name] += 1


@pytest.fixture
def compilers(monkeypatch: pytest.MonkeyPatch) -> Iterator[Compilers]:
    """Those of one test, on a machine of two cores."""
    monkeypatch.setattr(ahead, "cores", lambda: 2)
    heard = Compilers()
    jax.monitoring.register_event_duration_secs_listener(heard.hear)
    yield heard
    heard.is_on = False


def wait_for_threads() -> None:
    for thread in threading.enumerate():
        if thread.name == "refti ahead":
            thread.join()


def test_a_program_is_compiled_once_and_its_value_is_that_of_the_arguments(compilers: Compilers):
    @compiled()
    def slow(x: jax.Array, times: jax.Array) -> jax.Array:
        return jax.lax.fori_loop(0, 5, lambda _, y: jnp.sin(y) @ y.T * times, x)

    x = np.eye(4)
    with compiling_ahead(lambda: [Call(slow, (np.zeros((4, 4)), np.zeros(())), {})]):
        while not ahead._PENDING and not compilers.seen["refti ahead", "jit(slow)"]:
            time.sleep(0.001)
        found = Meter().call(slow, x, np.asarray(0.9))
    expected = x
    for _ in range(5):
        expected = np.sin(expected) @ expected.T * 0.9
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    wait_for_threads()
    assert compilers.seen["refti ahead", "jit(slow)"] == 1
    assert compilers.seen["MainThread", "jit(slow)"] == 0
    assert ahead._PENDING == {}


def test_trouble_is_left_to_the_run(compilers: Compilers):
    @compiled()
    def wrong(x: jax.Array) -> jax.Array:
        raise ValueError("cannot be traced")

    def foresee() -> Iterator[Call]:
        yield Call(wrong, (np.zeros(2),), {})
        raise AssertionError("nothing is looked at after it")

    with compiling_ahead(foresee):
        wait_for_threads()
        assert ahead._PENDING == {}
        with pytest.raises(ValueError, match="cannot be traced"):
            Meter().call(wrong, np.zeros(2))


def test_nothing_is_begun_after_the_run(compilers: Compilers):
    @compiled()
    def late(x: jax.Array) -> jax.Array:
        return x + 1

    ended = threading.Event()

    def foresee() -> Iterator[Call]:
        ended.wait()
        yield Call(late, (np.zeros(3),), {})

    with compiling_ahead(foresee):
        pass
    ended.set()
    wait_for_threads()
    assert compilers.seen["refti ahead", "jit(late)"] == 0


def test_python_waits_at_its_end_for_what_is_being_compiled(compilers: Compilers):
    daemons: list[bool] = []

    def foresee() -> Iterator[Call]:
        daemons.append(threading.current_thread().daemon)
        yield from ()

    def run() -> None:
        with compiling_ahead(foresee):
            pass

    # Commands run in a daemon, and what a daemon starts is one unless it is told otherwise.
    beside = threading.Thread(target=run, daemon=True)
    beside.start()
    beside.join()
    wait_for_threads()
    assert daemons == [False]


class AtOnce(threading.Thread):
    """A thread that is done when it was started: no test may depend on who comes first."""

    def start(self) -> None:
        super().start()
        self.join()


def test_a_run_and_that_of_its_prior_use_what_was_foreseen(
    compilers: Compilers, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(ahead, "Thread", AtOnce)
    model = refti.Model(
        log_prior=lambda a: norm.logpdf(a, 0.0, 2.0),
        log_likelihood=lambda a: jnp.sum(norm.logpdf(np.array([0.5, 1.5]), a, 1.0)),
        parameters={"a": refti.real()},
    )
    settings = {"kept": 50, "warmup": 50, "ladder": [0, 1], "search": "quick", "progress": False}
    result = refti.evidence(model, **settings)  # type: ignore[arg-type]
    truth = -0.5 * (2 * np.log(2 * np.pi) + np.log(9.0) + 2.5 - 4 * 4.0 / 9)
    assert abs(result.log_z - truth) < 4 * result.error
    assert compilers.seen["refti ahead", "jit(_advance)"] == 2
    assert compilers.seen["MainThread", "jit(_advance)"] == 0
    # The run's very first is nobody's to foresee.
    assert compilers.seen["refti ahead", "jit(evaluate_chains)"] == 3
    assert compilers.seen["MainThread", "jit(evaluate_chains)"] == 1
