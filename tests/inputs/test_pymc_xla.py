"""How XLA lays out its calls is read from its own header, and doubted where it does not fit."""

import re

import pymc as pm
import pytest

import refti
from refti.inputs.pymc import compiled_density
from refti.inputs.pymc.xla_handler import register_handler
from refti.inputs.pymc.xla_layout import LayoutError, parse_layout, read_layout

HEADER = """
#define XLA_FFI_API_MINOR 3
typedef enum {
  XLA_FFI_Small = 1,
  XLA_FFI_Large = 20,
} XLA_FFI_Kind;
typedef uint32_t XLA_FFI_Traits;
typedef struct XLA_FFI_Inner {
  size_t struct_size;
  XLA_FFI_Kind kind;  // four bytes, and four of padding
  struct XLA_FFI_Inner* next;
} XLA_FFI_Inner;
struct XLA_FFI_Outer {
  size_t struct_size;
  XLA_FFI_Traits traits;
  XLA_FFI_Inner inner;
  const void** values;
  int64_t later;
};
XLA_FFI_DEFINE_STRUCT_TRAITS(XLA_FFI_Outer, values);
"""
WRONG = {
    "a field more": ("const XLA_FFI_Api* api;", "const XLA_FFI_Api* api; size_t more;"),
    "a larger answer": ("XLA_FFI_Handler_Traits traits;", "size_t traits;"),
    "a later version": ("XLA_FFI_API_MINOR 3", "XLA_FFI_API_MINOR 9999"),
    "an unknown type": ("int64_t rank;", "mystery rank;"),
    "a renamed field": ("int64_t* dims;", "int64_t* dimensions;"),
}


def test_offsets_are_those_of_the_c_compiler():
    layout = parse_layout(HEADER)
    assert layout.offset("XLA_FFI_Inner", "next") == 16
    assert layout.offset("XLA_FFI_Outer", "inner", "kind") == 24
    assert layout.offset("XLA_FFI_Outer", "values") == 40
    assert layout.size("XLA_FFI_Outer") == 48
    assert layout.constant("XLA_FFI_API_MINOR") == 3
    assert layout.constant("XLA_FFI_Large") == 20


@pytest.mark.parametrize("kind", WRONG)
def test_a_layout_that_is_not_that_of_xla_is_noticed_before_any_call(kind: str):
    text = read_layout().text
    before, after = WRONG[kind]
    assert before in text
    with pytest.raises(LayoutError, match="cannot be called by JAX"):
        register_handler(f"refti_test_{kind}", parse_layout(text.replace(before, after)))


def test_without_a_handler_jax_evaluates_what_it_can_and_the_rest_goes_by_values(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(compiled_density, "_register_once", lambda: LayoutError("a reason"))
    with pm.Model() as by_jax:
        pm.Normal("mean")
    assert refti.from_pymc(by_jax).source.endswith("by JAX")
    with pm.Model() as by_numba:  # JAX lacks erfcx
        pm.Truncated("y", pm.Normal.dist(pm.Normal("mean"), 1), lower=0, observed=[0.5])
    model = refti.from_pymc(by_numba)
    assert not model.has_gradient
    assert re.search(r"Numba cannot: .* a reason .*--upgrade refti jax", model.source)
