"""Every test of the command line gets the signals as Python has them."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest

from refti.cli.stopping import STOPPING


@pytest.fixture(autouse=True)
def signals_as_they_were() -> Iterator[None]:
    """Puts back what main() sets for its whole process."""
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = [signal.getsignal(number) for number in numbers]
    yield
    for number, handler in zip(numbers, before, strict=True):
        signal.signal(number, handler)
    STOPPING.__init__()  # type: ignore[misc]
