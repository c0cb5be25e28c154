"""NumPyro's scans whose carries are of 32 bits, run in the 64 bits that refti computes in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from numpyro.contrib.control_flow.scan import scan_wrapper
from numpyro.primitives import Messenger

WIDER = {
    jnp.dtype(narrow): jnp.dtype(wide)
    for narrow, wide in ((jnp.int32, jnp.int64), (jnp.float32, jnp.float64))
}


class WideCarries(Messenger):
    """A handler that turns carries of 32 bits into such of 64, where they begin and after a step.

    `jnp.ones(n, dtype=jnp.int32)` is what a state has by default in 32 bits; in 64 bits a discrete
    site has another type, and JAX refuses a loop that changes the type of what it carries.
    """

    def process_message(self, msg: dict[str, Any]) -> None:
        """Widens what a scan is given; no other message is touched."""
        if msg["type"] != "control_flow" or msg["fn"] is not scan_wrapper:
            return
        step, begin, *others = msg["args"]
        narrow = [_narrow(leaf) for leaf in jax.tree.leaves(begin)]
        if any(narrow):
            msg["args"] = (_wide_step(step, narrow), _widened(begin, narrow), *others)


def _wide_step(step: Callable[..., Any], narrow: list[bool]) -> Callable[..., Any]:
    def wide(carry: Any, x: Any) -> tuple[Any, Any]:
        carried, out = step(carry, x)
        return _widened(carried, narrow), out

    return wide


def _widened(carry: Any, narrow: list[bool]) -> Any:
    leaves, form = jax.tree.flatten(carry)
    if len(leaves) != len(narrow):
        return carry  # JAX will say that the step changes what it carries
    wide = [
        jnp.asarray(leaf, WIDER[jnp.result_type(leaf)]) if is_narrow and _narrow(leaf) else leaf
        for leaf, is_narrow in zip(leaves, narrow, strict=True)
    ]
    return jax.tree.unflatten(form, wide)


def _narrow(leaf: Any) -> bool:
    return hasattr(leaf, "dtype") and leaf.dtype in WIDER
