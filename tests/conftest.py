"""What the tests share: 64-bit mode for those that call JAX themselves."""

from collections.abc import Iterator

import jax
import pytest


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
