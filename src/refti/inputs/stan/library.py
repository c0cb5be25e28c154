"""A compiled Stan program with its data: names, and the maps to and from its parameters."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable
from ctypes import POINTER, byref, c_bool, c_char_p, c_double, c_int, c_long, c_uint, c_void_p
from pathlib import Path

import numpy as np

from refti.errors import ModelError

_NUMBERS = np.ctypeslib.ndpointer(np.float64, flags="C_CONTIGUOUS")
_ERROR = POINTER(c_void_p)
_SIGNATURES = {
    "bs_model_construct": (c_void_p, [c_char_p, c_uint, _ERROR]),
    "bs_free_error_msg": (None, [c_void_p]),
    "bs_param_names": (c_char_p, [c_void_p, c_bool, c_bool]),
    "bs_param_unc_names": (c_char_p, [c_void_p]),
    "bs_param_unc_num": (c_int, [c_void_p]),
    "bs_param_constrain": (
        c_int,
        [c_void_p, c_bool, c_bool, _NUMBERS, _NUMBERS, c_void_p, _ERROR],
    ),
    "bs_rng_construct": (c_void_p, [c_uint, _ERROR]),
    "bs_rng_destruct": (c_int, [c_void_p]),
    "bs_param_unconstrain": (c_int, [c_void_p, _NUMBERS, _NUMBERS, _ERROR]),
    "bs_log_density": (
        c_int,
        [c_void_p, c_bool, c_bool, _NUMBERS, POINTER(c_double), _ERROR],
    ),
}


class Library:
    """A shared library with BridgeStan's C interface, and a model made by it from data.

    The model lives as long as the process: compiled programs hold its address.

    Attributes:
        address: of the model.
        dim: the number of unconstrained coordinates.
        names: of the elements of all parameters, such as "beta.1", in the library's order.
        all_names: the same with transformed parameters and generated quantities after them.
        unconstrained_names: of the unconstrained coordinates.
    """

    def __init__(self, file: Path, data: str):
        try:
            self._library = ctypes.CDLL(str(file))
        except OSError as error:
            raise ModelError(f"The compiled Stan program cannot be loaded: {error}.") from error
        for name, (result, arguments) in _SIGNATURES.items():
            function = getattr(self._library, name)
            function.restype, function.argtypes = result, arguments
        said = c_void_p()
        address = self._library.bs_model_construct(data.encode(), 0, byref(said))
        if not address:
            raise ModelError(
                f"Stan does not accept the data: {self._text(said)} Check data= against the "
                "program's data and transformed data blocks."
            )
        self.address: int = address
        self.dim: int = self._library.bs_param_unc_num(address)
        self.names = _split(self._library.bs_param_names(address, False, False))
        self.all_names = _split(self._library.bs_param_names(address, True, True))
        self.unconstrained_names = _split(self._library.bs_param_unc_names(address))

    def limit_solvers(self, most: int) -> None:
        """Stops a density that asks more often for right-hand sides of differential equations.

        BridgeStan's libraries know no such limit.
        """
        if hasattr(self._library, "refti_limit_solvers"):
            self._library.refti_limit_solvers(c_void_p(self.address), c_long(most))

    def stopped(self) -> int:
        """How many densities were stopped at that limit so far."""
        if not hasattr(self._library, "refti_stopped"):
            return 0
        self._library.refti_stopped.restype = c_long
        return int(self._library.refti_stopped(c_void_p(self.address)))

    def function(self, name: str) -> int:
        """The address of a function, for native code to call."""
        return ctypes.cast(getattr(self._library, name), c_void_p).value or 0

    def constrain(self, x: np.ndarray) -> np.ndarray:
        """The values of all parameters [n, value] at points x[n, dim]; NaN where Stan fails."""
        values = np.full((len(x), len(self.names)), np.nan)
        for point, out in zip(np.ascontiguousarray(x, np.float64), values, strict=True):
            error = c_void_p()
            if self._library.bs_param_constrain(
                self.address, False, False, point, out, None, byref(error)
            ):
                self._text(error)
                out[:] = np.nan
        return values

    def derive(self, x: np.ndarray, seed: int) -> np.ndarray:
        """All that the program computes [n, value] at points x[n, dim]; NaN where it fails.

        These are its parameters, transformed parameters and generated quantities, whose random
        numbers come from the seed.
        """
        values = np.full((len(x), len(self.all_names)), np.nan)
        error = c_void_p()
        rng = self._library.bs_rng_construct(seed, byref(error))
        for point, out in zip(np.ascontiguousarray(x, np.float64), values, strict=True):
            if self._library.bs_param_constrain(
                self.address, True, True, point, out, rng, byref(error)
            ):
                self._text(error)
                out[:] = np.nan
        self._library.bs_rng_destruct(rng)
        return values

    def unconstrain(self, values: np.ndarray) -> np.ndarray:
        """The coordinates x[n, dim] of values [n, value] of all parameters.

        Raises ModelError, in Stan's words, if a value is outside its bounds.
        """
        x = np.empty((len(values), self.dim))
        for row, out in zip(np.ascontiguousarray(values, np.float64), x, strict=True):
            self._require_success(self._library.bs_param_unconstrain, self.address, row, out)
        return x

    def log_density(self, x: np.ndarray) -> float:
        """The log density at one point, Jacobian and all constants included.

        Raises ModelError if Stan rejects the point.
        """
        value = c_double()
        point = np.ascontiguousarray(x, np.float64)
        self._require_success(
            self._library.bs_log_density, self.address, False, True, point, byref(value)
        )
        return value.value

    def _require_success(self, function: Callable[..., int], *arguments: object) -> None:
        """Calls a function of the library. Raises ModelError, with what it said, if it fails."""
        error = c_void_p()
        if function(*arguments, byref(error)):
            raise ModelError(self._text(error))

    def _text(self, error: c_void_p) -> str:
        """What the library said, without Stan's advice on initial values; its memory given back."""
        if not error:
            return "no reason given."
        text = ctypes.string_at(error).decode(errors="replace")
        self._library.bs_free_error_msg(error)
        return re.sub(r"\s+", " ", text).strip()


def _split(names: bytes) -> list[str]:
    return names.decode().split(",") if names else []
