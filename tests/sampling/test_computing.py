"""The scope of a run leaves the process as it found it, however runs overlap."""

import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from types import ModuleType

import jax
import pytest
from threadpoolctl import ThreadpoolController, threadpool_info, threadpool_limits

from refti.sampling.computing import computing


def blas_threads() -> set[int]:
    return {lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"}


@pytest.fixture(autouse=True)
def two_threads() -> Iterator[None]:
    with threadpool_limits(2, user_api="blas"):
        assert blas_threads() == {2}
        yield


class Elsewhere:
    """The scope, entered and left by a thread of its own."""

    def __enter__(self) -> None:
        self._leave, entered = threading.Event(), threading.Event()

        def run() -> None:
            with computing():
                entered.set()
                self._leave.wait(60)

        self._thread = threading.Thread(target=run)
        self._thread.start()
        assert entered.wait(60)

    def __exit__(self, *error: object) -> None:
        self._leave.set()
        self._thread.join()


@pytest.mark.parametrize("first_out", [0, 1])
def test_two_runs_that_overlap_leave_the_number_of_blas_threads(first_out: int):
    runs = [ExitStack(), ExitStack()]
    for run in runs:
        run.enter_context(Elsewhere())
        assert blas_threads() == {1}
    runs[first_out].close()
    assert blas_threads() == {1}  # the other is still computing
    runs[1 - first_out].close()
    assert blas_threads() == {2}


def test_a_run_that_fails_leaves_it_too():
    with pytest.raises(ZeroDivisionError), computing(), computing():
        _ = 1 / 0
    assert blas_threads() == {2}
    assert not jax.config.jax_enable_x64


def test_libraries_are_looked_for_once_and_again_when_another_may_have_come(
    monkeypatch: pytest.MonkeyPatch,
):
    found = []
    look = ThreadpoolController._load_libraries
    monkeypatch.setattr(
        ThreadpoolController, "_load_libraries", lambda self: (found.append(self), look(self))[1]
    )
    with computing():
        for _ in range(3):
            with Elsewhere():
                pass
        assert len(found) == 1
        monkeypatch.setitem(sys.modules, "a_module_with_a_library", ModuleType("new"))
        with Elsewhere():
            pass
        assert len(found) == 2
