"""What the tests share: 64-bit mode for those that call JAX themselves, and their processes."""

import os
from collections.abc import Iterator
from pathlib import Path

# Before JAX is imported, here and in processes that tests start: what one process has compiled
# others read, in this run and in the next.
_COMPILED = Path(__file__).parents[1] / ".cache" / "jax"
_COMPILED.mkdir(mode=0o700, parents=True, exist_ok=True)
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(_COMPILED))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")

import jax  # noqa: E402
import pytest  # noqa: E402


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The tests of a file run in one process, where what they compile is compiled once."""
    for item in items:
        if item.get_closest_marker("xdist_group") is None:
            item.add_marker(pytest.mark.xdist_group(item.path.stem))


@pytest.fixture
def x64() -> Iterator[None]:
    """64-bit mode, as the library has it within its own calls, for the length of one test."""
    with jax.enable_x64(True):
        yield


@pytest.fixture(autouse=True)
def _settings_of_jax_are_left_as_they_were() -> Iterator[None]:
    yield
    left_on = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", False)
    assert not left_on, "64-bit mode was turned on for everyone"
