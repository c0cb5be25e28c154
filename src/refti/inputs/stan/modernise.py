"""Programs in the syntax of Stan before 2.33, converted: arrays, assignments, old names."""

from __future__ import annotations

import re

_KINDS = (
    r"(?:int|real|vector|row_vector|matrix|simplex|unit_vector|ordered|positive_ordered"
    r"|corr_matrix|cov_matrix|cholesky_factor_corr|cholesky_factor_cov)"
)
_INSIDE = r"(?:[^\[\]]|\[[^\[\]]*\])*"  # of a bracket, with one more in it
_SPACE = r"(?:\s|/\*\d+\*/)*"  # with comments that were put aside
_TYPE = rf"{_KINDS}(?:\s*<[^;{{}}]*?>)?(?:\s*\[{_INSIDE}\])?"
# `real<lower=0> y[N] = ...`, with others of the type beside it: the array comes first now.
_DECLARATION = re.compile(
    rf"(?<=[;{{}}])(?P<before>{_SPACE})(?P<type>{_TYPE})\s+(?P<rest>[A-Za-z]\w*\s*(?:[\[,=][^;]*)?);"
)
_ASSIGNMENT = re.compile(rf"((?:^|[;{{}})]|\belse\b){_SPACE}[A-Za-z]\w*(?:\s*\[{_INSIDE}\])*\s*)<-")
_DECLARATOR = re.compile(rf"^\s*(\w+)\s*(?:\[({_INSIDE})\])?\s*(=.*)?$", re.DOTALL)
_ARGUMENT = re.compile(rf"\b((?:data\s+)?)({_KINDS})\s*\[([\s,]*)\]\s*(?=\w|$)")
_LOG_DENSITY = re.compile(r"\b(\w+)_log\s*\(")
_NAMES = {
    "increment_log_prob": "target +=",
    "get_lp": "target",
    "integrate_ode": "integrate_ode_rk45",
    "multiply_log": "lmultiply",
    "binomial_coefficient_log": "lchoose",
    "cov_exp_quad": "gp_exp_quad_cov",
    "fabs": "abs",
}
_CONTINUOUS = {
    *("normal", "std_normal", "cauchy", "student_t", "double_exponential", "logistic", "gumbel"),
    *("lognormal", "chi_square", "inv_chi_square", "scaled_inv_chi_square", "exponential"),
    *("gamma", "inv_gamma", "weibull", "frechet", "rayleigh", "wald", "pareto", "beta", "uniform"),
    *("von_mises", "multi_normal", "multi_normal_cholesky", "multi_normal_prec", "dirichlet"),
    *("multi_student_t", "wishart", "inv_wishart", "lkj_corr", "lkj_corr_cholesky"),
}
_DISCRETE = {
    *("bernoulli", "bernoulli_logit", "binomial", "binomial_logit", "poisson", "poisson_log"),
    *("neg_binomial", "neg_binomial_2", "neg_binomial_2_log", "hypergeometric", "categorical"),
    *("categorical_logit", "ordered_logistic", "multinomial"),
}


def modernise(text: str) -> str:
    """The program with arrays, assignments, comments and names as Stan has them since 2.33."""
    text = re.sub(r"(?m)(^|\s)#(?!include)", r"\1//", text)
    comments: list[str] = []

    def keep(match: re.Match[str]) -> str:
        comments.append(match[0])
        return f"/*{len(comments) - 1}*/"

    text = re.sub(r"//[^\n]*|/\*.*?\*/", keep, text, flags=re.DOTALL)
    text = _ASSIGNMENT.sub(r"\1=", text)
    for old, new in _NAMES.items():
        text = re.sub(rf"\b{old}\b", new, text)
    text = _LOG_DENSITY.sub(_log_density, text)
    text = _bars(text)
    text = _ARGUMENT.sub(_argument, text)
    text = _DECLARATION.sub(_declaration, text)
    return re.sub(r"/\*(\d+)\*/", lambda match: comments[int(match[1])], text)


def _declaration(match: re.Match[str]) -> str:
    parts = _split_commas(match["rest"])
    found = [_DECLARATOR.match(part) for part in parts]
    if not any(one and one[2] is not None for one in found) or not all(found):
        return match[0]
    lines = []
    for one in found:
        assert one is not None
        array = f"array[{one[2]}] " if one[2] is not None else ""
        lines.append(f"{array}{match['type']} {one[1]}{' ' + one[3] if one[3] else ''};")
    return match["before"] + " ".join(lines)


def _argument(match: re.Match[str]) -> str:
    """`real[] x` of a function is `array[] real x`; `vector[3] x` of a block has a size in it."""
    return f"{match[1]}array[{match[3].strip()}] {match[2]} "


def _log_density(match: re.Match[str]) -> str:
    name = match[1]
    if match.string[: match.start()].rstrip().endswith("~"):
        return match[0]  # the distribution of a count by the log of its rate
    tail = re.fullmatch(r"(\w+)_(cdf|ccdf)", name)
    if tail and tail[1] in _CONTINUOUS | _DISCRETE:
        return f"{tail[1]}_l{tail[2]}("
    if name not in _CONTINUOUS | _DISCRETE:
        return match[0]
    return f"{name}_{'lpmf' if name in _DISCRETE else 'lpdf'}("


def _bars(text: str) -> str:
    """Densities whose first comma is a bar now: `normal_lpdf(y, mu, sigma)`."""
    pieces, position = [], 0
    for match in re.finditer(r"\b\w+_(?:lpdf|lpmf|lcdf|lccdf)\(", text):
        if match.end() < position:
            continue
        depth, place = 1, match.end()
        while place < len(text) and depth:
            sign = text[place]
            if depth == 1 and sign in "|,":
                break
            depth += (sign in "([{") - (sign in ")]}")
            place += 1
        declares = re.search(r"\breal\s+$", text[: match.start()])
        if place < len(text) and text[place] == "," and not declares:
            pieces += [text[position:place], " |"]
            position = place + 1
    return "".join([*pieces, text[position:]])


def _split_commas(text: str) -> list[str]:
    parts, depth = [""], 0
    for sign in text:
        depth += (sign in "([{") - (sign in ")]}")
        if sign == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += sign
    return parts
