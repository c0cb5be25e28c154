"""A program with a switch for its likelihood: compiled once, it is the model and its prior."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

from refti.inputs.stan.factors import Factor
from refti.inputs.stan.program import Program, regenerate
from refti.inputs.stan.syntax import blocks

SWITCH = "refti_keeps_likelihood"


def with_switch(program: Program, stanc: Path) -> Program:
    """The program whose likelihood counts only where the datum SWITCH is 1."""
    code, pieces, position = program.code, [], 0
    for _, group in groupby(code.factors, key=lambda factor: factor.statement.place):
        factors = list(group)
        if any(factor.is_likelihood for factor in factors):
            begin, end = factors[0].statement.place
            pieces += [code.text[position:begin], " ".join(map(_switched, factors))]
            position = end
    text = "".join([*pieces, code.text[position:]])
    return regenerate(program, _declaring_switch(text, "data" in code.places), stanc)


def _switched(factor: Factor) -> str:
    return f"if ({SWITCH} == 1) {{ {factor.text} }}" if factor.is_likelihood else factor.text


def _declaring_switch(text: str, has_data: bool) -> str:
    places = blocks(text)
    if has_data:
        begin = places["data"][0]
        return f"{text[:begin]} int {SWITCH}; {text[begin:]}"
    begin = places["functions"][1] + 1 if "functions" in places else 0
    return f"{text[:begin]} data {{ int {SWITCH}; }} {text[begin:]}"
