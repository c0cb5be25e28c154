"""Parameters of a Stan program that no statement gives a prior: improper, so no evidence exists."""

from __future__ import annotations

import re
from collections.abc import Iterable

# A flat density over these is proper: they are bounded.
BOUNDED = ("simplex", "unit_vector", "corr_matrix", "cholesky_factor_corr")


def find_improper(text: str, parameters: Iterable[str], pedantry: str) -> list[str]:
    """The parameters that have no prior, as far as stanc's pedantic mode and the text can tell.

    stanc counts a prior whose arguments are data as none, so a parameter with a statement of its
    own (`mu ~ ...`, `normal_lpdf(mu | ...)`) is left out here, whatever stanc says, and so is one
    that a variable with a statement is made of, such as missing data among those that are there.
    """
    said = " ".join(pedantry.split())
    flagged = set(re.findall(r"The parameter (\w+) has no priors", said))
    code = re.sub(r"//[^\n]*|/\*.*?\*/", " ", text, flags=re.DOTALL)
    return [
        name
        for name in parameters
        if name in flagged
        and not _is_bounded(name, code)
        and not any(_is_drawn(variable, code) for variable in _made_of(name, code))
    ]


def _made_of(name: str, code: str) -> set[str]:
    """The parameter, and the variables that are assigned from it, directly or by way of others."""
    assignments = re.findall(r"\b(\w+)\s*(?:\[[^=;]*\])?\s*=(?!=)([^;]*);", code)
    found, grown = {name}, True
    while grown:
        new = {
            left for left, right in assignments if found & set(re.findall(r"\w+", right))
        } - found
        found, grown = found | new, bool(new)
    return found


def _is_bounded(name: str, code: str) -> bool:
    """Whether the parameter is declared with two bounds, or as a bounded kind."""
    kinds, end = "|".join(BOUNDED), rf"[^;]*\b{name}\s*[;,=]"
    two = r"<[^;>]*(?:lower\s*=[^;>]*upper|upper\s*=[^;>]*lower)\s*=[^;>]*>"
    return re.search(rf"(?:\b(?:{kinds})\s*\[|{two}){end}", code) is not None


def _is_drawn(name: str, code: str) -> bool:
    """Whether the parameter, or a part or a simple function of it, has a distribution statement."""
    part = rf"(?:\w+\(\s*)?\b{name}\b(?:\s*\[[^;~]*?\])?\s*\)?"
    statement = rf"(?:^|[;{{}}\n)])\s*{part}\s*~"
    function = rf"_l[pu]*[dm]f\s*\(\s*{part}\s*\|"
    return re.search(f"{statement}|{function}", code) is not None
