"""The backends that evaluate a PyMC model: JAX, Numba, and PyTensor's own where both fail."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Literal

import jax
import numpy as np

from refti.inputs.pymc.compiled_density import density_at, require_handler
from refti.inputs.pymc.graph import Graphs, all_digits
from refti.models.density import Density, to_density, trace

Backend = Literal["jax", "numba", "pytensor"]
TITLES: dict[Backend, str] = {"jax": "JAX", "numba": "Numba", "pytensor": "PyTensor"}


def density(graphs: Graphs, output: Any, backend: Backend) -> Density:
    """The density of a graph of x, by a backend. Raises what the backend raises if it cannot."""
    makers: dict[Backend, Callable[[Graphs, Any], Density]] = {
        "jax": _by_jax,
        "numba": _by_numba,
        "pytensor": _by_pytensor,
    }
    if backend != "jax":
        require_handler()  # before anything is compiled in vain
    with all_digits():
        return makers[backend](graphs, output)


def compile_graphs(inputs: list[Any], outputs: Any, graphs: Graphs, mode: Any) -> Any:
    """A function of PyTensor's, in which parameters out of bounds give -inf as in PyMC."""
    from pytensor import function
    from pytensor.compile.mode import get_mode

    wanted = get_mode(mode).including(_bounds(graphs))
    return function(inputs, outputs, mode=wanted, trust_input=True, on_unused_input="ignore")


def funcify_by_jax(graphs: Graphs, outputs: Sequence[Any]) -> Callable[..., Any]:
    """The function of x that JAX makes of graphs; a tuple of values. In 64-bit mode."""
    funcify = _jax_funcify()
    from pytensor.compile.mode import get_mode
    from pytensor.graph.fg import FunctionGraph

    # With the inner graphs of loops cloned too: JAX's rewrites change them in place.
    program = FunctionGraph([graphs.x], list(outputs), clone=True, clone_inner_graphs=True)
    get_mode("JAX").including(_bounds(graphs)).optimizer.rewrite(program)
    return funcify(program)


def _by_jax(graphs: Graphs, output: Any) -> Density:
    with jax.enable_x64(True):
        function = funcify_by_jax(graphs, [output])
        return to_density(trace(lambda x: function(x)[0], graphs.dim))


def _jax_funcify() -> Callable[[Any], Callable[..., Any]]:
    """PyTensor's translator to JAX, whose import would turn 64-bit mode on for everyone.

    The import runs in a thread of its own, where the setting that is read is the global one and
    not that of a scope around this call.
    """

    def load() -> Callable[[Any], Callable[..., Any]]:
        before = jax.config.jax_enable_x64  # type: ignore[attr-defined]
        try:
            from pytensor.link.jax.dispatch import jax_funcify
        finally:
            jax.config.update("jax_enable_x64", before)
        return jax_funcify

    with ThreadPoolExecutor(1) as aside:
        return aside.submit(load).result()


def _by_numba(graphs: Graphs, output: Any) -> Density:
    import numba
    from pytensor import grad

    function = compile_graphs([graphs.x], [output, grad(output, graphs.x)], graphs, "NUMBA")
    program, dim = function.vm.jit_fn, graphs.dim
    pointer = numba.types.CPointer(numba.types.float64)

    @numba.cfunc(numba.types.void(pointer, pointer, pointer), nopython=True)
    def evaluate(x: Any, value: Any, gradient: Any) -> None:
        out, slopes = numba.carray(value, (1,)), numba.carray(gradient, (dim,))
        try:
            log_density, gradients = program(numba.carray(x, (dim,)))
            out[0] = log_density.item()
            slopes[:] = gradients
        except Exception:
            out[0] = np.nan
            slopes[:] = np.nan

    return density_at(evaluate.address, (function, evaluate))


def _by_pytensor(graphs: Graphs, output: Any) -> Density:
    from pytensor import grad

    function = compile_graphs([graphs.x], [output, grad(output, graphs.x)], graphs, None)
    dim = graphs.dim
    pointer = ctypes.POINTER(ctypes.c_double)

    @ctypes.CFUNCTYPE(None, pointer, pointer, pointer)
    def evaluate(x: Any, value: Any, gradient: Any) -> None:
        slopes = np.ctypeslib.as_array(gradient, (dim,))
        try:
            value[0], slopes[:] = function(np.ctypeslib.as_array(x, (dim,)).copy())
        except Exception:
            value[0] = slopes[:] = np.nan

    address = ctypes.cast(evaluate, ctypes.c_void_p).value
    assert address is not None
    return density_at(address, (function, evaluate))


def _bounds(graphs: Graphs) -> str:
    """The rewrite of PyMC's checks of parameters, as PyMC itself chooses it."""
    if getattr(graphs.model, "check_bounds", True):
        return "local_check_parameter_to_ninf_switch"
    return "local_remove_check_parameter"
