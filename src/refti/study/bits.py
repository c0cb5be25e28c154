"""bits_of(): one hash of all numbers of a result, to tell whether two runs gave the same bits."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from refti.results.result import Result


def bits_of(result: Result) -> str:
    """The sha256 of the estimate, its error, every delta and every posterior draw."""
    total = hashlib.sha256()

    def add(name: str, values: Any) -> None:
        array = np.asarray(values)
        total.update(f"{name} {array.shape} {array.dtype.str} ".encode())
        total.update(np.ascontiguousarray(array).tobytes())

    add("estimate", [result.value, result.error])
    for number, leg in enumerate(result.draws):
        add(f"lambdas {number}", leg.lambdas)
        add(f"delta {number}", leg.delta)
    for name in sorted(map(str, result.posterior.data_vars)):
        add(f"posterior {name}", result.posterior[name].values)
    return total.hexdigest()
