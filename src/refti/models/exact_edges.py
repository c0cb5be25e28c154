"""Exact edges: a program rewritten so that distances to bounds keep all their digits.

Near an upper bound a parameter is rounded, and `1 - p` or `log1p(-p)` of it is wrong though the
unconstrained coordinate knows it well. The program is run through once more, symbolically, and the
logistic functions and exponentials in it, which are the maps from unconstrained coordinates to
bounds, are followed with their edge forms through what does not hide them: shapes, constants added
and multiplied, products, powers, selections. What is not known here is computed as it was.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
from jax.extend.core import ClosedJaxpr, Jaxpr, Literal, jaxprs_in_params

from refti.models.edge_arithmetic import bind, has_all_digits
from refti.models.edge_forms import ABOVE_ZERO, BELOW_ONE, Logarithm, Tracked, constant
from refti.models.edge_rules import RULES

CALLS = {"jit", "pjit", "closed_call", "core_call"}
# Their own derivatives only guard against what cannot happen to an exact logarithm.
WITHOUT_RULE = {"xlogy", "xlog1py", "logit"}
SEEDS = {"exp", "logistic"}


def keep_edges(closed: ClosedJaxpr) -> ClosedJaxpr:
    """A program of unconstrained coordinates rewritten; itself where there is nothing to do."""
    count, tracer = len(closed.consts), _Tracer()

    def function(*arguments: Any) -> list[Any]:
        # Constants are arguments here, so that programs do not differ by the data they hold.
        held = zip(closed.consts, arguments[:count], strict=True)
        consts = [replace(constant(known), value=value) for known, value in held]
        given = [Tracked(argument) for argument in arguments[count:]]
        return [out.value for out in tracer.run(closed.jaxpr, consts, given)]

    shapes = [jax.ShapeDtypeStruct(v.aval.shape, v.aval.dtype) for v in closed.jaxpr.invars]
    try:
        traced = jax.make_jaxpr(function)(*closed.consts, *shapes)
    except Exception:  # an operation that cannot be run again: the program is right as it is
        return closed
    if not tracer.has_used_forms:
        return closed
    inner = traced.jaxpr
    program = inner.replace(
        constvars=[*inner.constvars, *inner.invars[:count]],
        invars=inner.invars[count:],
        debug_info=closed.jaxpr.debug_info,
    )
    return ClosedJaxpr(program, [*traced.consts, *closed.consts])


class _Tracer:
    """Runs a program on tracked values, and remembers whether any form of theirs was used."""

    def __init__(self) -> None:
        self.has_used_forms = False

    def run(
        self, jaxpr: Jaxpr, consts: Sequence[Tracked], arguments: Sequence[Tracked]
    ) -> list[Tracked]:
        """What a program gives."""
        values = dict(zip([*jaxpr.constvars, *jaxpr.invars], [*consts, *arguments], strict=True))

        def read(atom: Any) -> Tracked:
            return constant(atom.val) if isinstance(atom, Literal) else values[atom]

        for equation in jaxpr.eqns:
            found = self.step(equation, [read(atom) for atom in equation.invars])
            values.update(zip(equation.outvars, found, strict=True))
        return [read(atom) for atom in jaxpr.outvars]

    def step(self, equation: Any, given: list[Tracked]) -> list[Tracked]:
        """What one equation gives."""
        name = equation.primitive.name
        inner = next((p for p in equation.params.values() if isinstance(p, ClosedJaxpr)), None)
        if inner is not None and _is_inlined(name, inner, given):
            return self.run(inner.jaxpr, [constant(c) for c in inner.consts], given)
        found = None
        if name in SEEDS and has_all_digits(equation):
            found = [self.seed(name, given[0].value)]
        elif name in RULES:
            found = RULES[name](equation, given)
        if found is None:
            found = [Tracked(value) for value in bind(equation, [one.value for one in given])]
        return found

    def seed(self, name: str, x: Any) -> Tracked:
        """The maps to bounds, whose forms all others come from."""

        def logarithm(make: Logarithm) -> Logarithm:
            def used() -> Any:
                self.has_used_forms = True
                return make()

            return used

        if name == "exp":
            return Tracked(jnp.exp(x), {ABOVE_ZERO: logarithm(lambda: jnp.asarray(x))})
        forms = {
            ABOVE_ZERO: logarithm(lambda: jax.nn.log_sigmoid(x)),
            BELOW_ONE: logarithm(lambda: jax.nn.log_sigmoid(-x)),
        }
        return Tracked(jax.lax.logistic(x), forms, is_share=True)


def _is_inlined(name: str, inner: ClosedJaxpr, given: list[Tracked]) -> bool:
    """Whether a call is run as if what it calls stood in its place.

    Others are left as they are, so that programs that call the same are told to be the same.
    """
    has_forms = any(one.forms for one in given)
    if name == "custom_jvp_call":
        return has_forms and inner.jaxpr.debug_info.func_name in WITHOUT_RULE
    return name in CALLS and (has_forms or _has_seed(inner.jaxpr))


def _has_seed(jaxpr: Jaxpr) -> bool:
    """Whether a map to bounds stands in a program, or in one that it calls."""
    return any(
        equation.primitive.name in SEEDS
        or (
            equation.primitive.name in CALLS
            and any(_has_seed(inner) for inner in jaxprs_in_params(equation.params))
        )
        for equation in jaxpr.eqns
    )
