"""Equations as MathML, written when the site is built: nothing to fetch, and no script to run."""

import re
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.util.math import get_node_equation_number

# A name of a function before what it is applied to, which MathML puts without a space.
FUNCTION = re.compile(r"<mi>(?:log|exp|max|min)</mi>(?=<m(?!o))")


def setup(app: Sphinx) -> dict[str, Any]:
    """Registers the renderer under the name `mathml`."""
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_display, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def mathml(latex: str, display: str) -> str:
    """The equation as MathML; a stray & or a command that is not known stops the build."""
    written = convert(latex, display=display)
    if re.search(r"&(?!#?\w+;)|\\[a-zA-Z]+", written):
        raise ValueError(f"latex2mathml does not know all of this equation: {latex}")
    return FUNCTION.sub(r'\g<0><mspace width="0.17em" />', written)


def visit_inline(self: Any, node: nodes.math) -> None:
    """Writes an equation within a line."""
    self.body.append(mathml(node.astext(), "inline"))
    raise nodes.SkipNode


def visit_display(self: Any, node: nodes.math_block) -> None:
    """Writes an equation on lines of its own, with its number where it has one."""
    self.body.append(self.starttag(node, "div", CLASS="math", role="math"))
    if node["number"]:
        number = get_node_equation_number(self, node)
        self.body.append(f'<span class="eqno">({number})')
        self.add_permalink_ref(node, "Link to this equation")
        self.body.append("</span>")
    self.body.append(mathml(node.astext(), "block"))
    self.body.append("</div>\n")
    raise nodes.SkipNode
