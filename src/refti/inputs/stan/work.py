"""How much work one evaluation of a Stan program is, by the size of its data."""

from __future__ import annotations

import json
import re
from typing import Any

from refti.inputs.stan import syntax
from refti.inputs.stan.tuning import TUNING

# What these take does not show in the size of the data.
_DEAR = re.compile(
    r"(integrate|ode|dae|solve|algebra_solver|gp|hmm)_\w+|\w*(cholesky|inverse|eigen|svd|qr_)\w*"
    r"|cov_exp_quad|matrix_exp\w*|mdivide\w*|log_determinant\w*|determinant|map_rect|reduce_sum\w*"
    r"|multi_(normal|gp|student)\w*|wishart\w*|inv_wishart\w*"
)


def operations_of(code: str, data: str, dim: int) -> int | None:
    """About how many operations an evaluation takes; None for a program with dear functions."""
    if any(_DEAR.fullmatch(name) for name, _ in syntax.calls(syntax.tokenise(code))):
        return None
    return TUNING.operations_a_number * (_numbers(json.loads(data)) + dim)


def _numbers(values: Any) -> int:
    if isinstance(values, dict):
        return sum(map(_numbers, values.values()))
    return sum(map(_numbers, values)) if isinstance(values, list) else 1
