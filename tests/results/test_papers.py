"""Comparisons for papers: Markdown and LaTeX in which names are text and notes are seen."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import pytest

from refti.results.compare import compare
from refti.results.papers import escape_latex, escape_markdown


@dataclass(frozen=True)
class Result:
    log_z: float
    error: float
    trusted: bool = True
    found: dict[str, Any] = field(default_factory=dict)


TABLE = compare(
    {
        "AR(3)": Result(-100.0, 0.05),
        "a_b|c$": Result(-101.7, 0.08, trusted=False),
        "far": Result(-300.0, 0.1),
        "broken": Result(float("nan"), 0.1),
    }
)


def test_markdown_has_a_row_a_model_and_the_notes():
    lines = TABLE.to_markdown().splitlines()
    assert lines[2] == "| AR(3) | -100.000 ± 0.050 | 0 | 0.846 ± 0.012 | yes |"
    assert lines[3].startswith(r"| a\_b\|c\$ | -101.700 ± 0.080 | -1.700 ± 0.094 |")
    assert lines[4].split("|")[4].strip() == "< 0.0001"
    assert lines[5].split("|")[2].strip() == "–"
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in lines[:6]} == {6}
    assert any("do not rely on" in line for line in lines[6:])


def test_latex_has_balanced_braces_escaped_names_and_the_notes():
    text = TABLE.to_latex()
    assert r"AR(3) & $-100.000 \pm 0.050$ & $0$ & $0.846 \pm 0.012$ & yes \\" in text
    assert r"a\_b\textbar{}c\$ & $-101.700 \pm 0.080$" in text
    assert "$< 0.0001$" in text
    assert text.count(r"\begin{tabular}") == text.count(r"\end{tabular}") == 1
    bare = re.sub(r"\\[{}]", "", text)
    assert bare.count("{") == bare.count("}")
    assert r"\multicolumn{5}" in text
    rows = [line for line in text.splitlines() if line.endswith(r"\\") and "&" in line]
    assert {len(re.findall(r"(?<!\\)&", row)) for row in rows} == {4}


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("50 % & more", r"50 \% \& more"),
        ("\\x{y}", r"\textbackslash{}x\{y\}"),
        ("a\nb", "a?b"),
        ("--a---b", "-{}-a-{}-{}-b"),
    ],
)
def test_names_in_latex(name: str, shown: str):
    assert escape_latex(name) == shown


def test_markup_in_markdown_is_text():
    assert escape_markdown("<b>*x*</b>") == r"\<b\>\*x\*\</b\>"


def test_a_probability_next_to_one_has_no_digits():
    table = compare({"near": Result(-100.0, 0.05), "far": Result(-300.0, 0.1)})
    assert r"$> 0.9999$" in table.to_latex()
    assert "| > 0.9999 |" in table.to_markdown()


CUT = "bounds cut off `tau_1`: -0.693 nats; say --uniform-priors <keep>"
NOTED = compare(
    {
        "a_1": Result(-1.0, 0.1, found={"notes": [CUT]}),
        "b": Result(-2.0, 0.1, found={"notes": [CUT, "of b\nalone"]}),
        "c": Result(-9.0, 0.1, found={"search": None}),
    }
)


def test_notes_on_models_are_footnotes_of_every_form_each_once():
    assert str(NOTED).splitlines()[-2:] == [f"a_1, b: {CUT}", "b: of b?alone"]
    assert NOTED.to_markdown().split("\n\n")[-2:] == [
        r"a\_1, b: bounds cut off \`tau\_1\`: -0.693 nats; say --uniform-priors \<keep\>",
        "b: of b?alone",
    ]
    below = NOTED.to_latex().partition(r"\end{tabular}")[2]
    assert r"a\_1, b: bounds cut off \textasciigrave{}tau\_1" in below
    assert r"say -{}-uniform-priors \textless{}keep\textgreater{}" in below
    assert below.count("cut off") == 1
    assert "&lt;keep&gt;" in NOTED._repr_html_()
    assert "<keep>" not in NOTED._repr_html_()
    rows = NOTED.to_dict()["rows"]
    assert [row["notes"] for row in rows] == [[CUT], [CUT, "of b\nalone"], []]
