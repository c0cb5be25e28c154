"""What the tests share: 64-bit mode for those that call JAX themselves, and their processes."""

from collections.abc import Iterator

import jax
import pytest


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
