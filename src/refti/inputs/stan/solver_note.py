"""What a reader has to know of a program's differential equations: how exactly they are solved."""

from __future__ import annotations

import re

from refti.inputs.stan import syntax
from refti.inputs.stan.factors import Code
from refti.inputs.stan.numbers import number
from refti.inputs.stan.tuning import TUNING

_SOLVER = re.compile(r"(integrate_ode|ode|dae)_\w+")


def solver_note(code: Code) -> list[str]:
    """A note on the tolerances of solvers, where the program sets them, and coarse ones."""
    found: dict[str, tuple[float, float]] = {}
    for name, given in syntax.calls(syntax.tokenise(code.text)):
        arguments = syntax.split(given, ",")
        if not _SOLVER.fullmatch(name):
            continue
        # ode_rk45_tol(f, y0, t0, ts, relative, absolute, steps, ...), and the older
        # integrate_ode_rk45(f, y0, t0, ts, theta, x_r, x_i, relative, absolute, steps).
        first = 4 if name.endswith("_tol") else 7 if name.startswith("integrate") else None
        if first is None or len(arguments) < first + 2:
            continue
        relative, absolute = (number(one, {}) for one in arguments[first : first + 2])
        if relative is not None and absolute is not None:
            found[name] = (float(relative), float(absolute))
    return [
        f"{name} solves its differential equations to tolerances of {relative:g} (relative) and "
        f"{absolute:g} (absolute), and gradients are off by as much: chains correct for that, and "
        "log z is for the solver's own answers; tighten the tolerances to see whether they matter"
        for name, (relative, absolute) in found.items()
        if max(relative, absolute) > TUNING.coarse_tolerance
    ]
