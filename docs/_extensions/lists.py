"""Lists in docstrings: reStructuredText wants a blank line before one, the house style does not."""

from typing import Any

from sphinx.application import Sphinx


def setup(app: Sphinx) -> dict[str, Any]:
    """Runs before napoleon, which comes at 500."""
    app.connect("autodoc-process-docstring", separate_lists, priority=400)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def separate_lists(
    app: Sphinx, what: str, name: str, of: Any, options: Any, lines: list[str]
) -> None:
    """Puts a blank line before the first item of every list, and one after the last."""
    del app, what, name, of, options
    separated: list[str] = []
    for line in lines:
        before = separated[-1] if separated else ""
        begins = line.lstrip().startswith("- ") and not _in_list(before)
        ends = _is_item(before) and line.strip() and not _in_list(line, before)
        if before.strip() and (begins or ends):
            separated.append("")
        separated.append(line)
    lines[:] = separated


def _is_item(line: str) -> bool:
    return line.lstrip().startswith("- ")


def _in_list(line: str, item: str = "") -> bool:
    """Whether a line is an item, or goes on with the item before it."""
    deeper = len(line) - len(line.lstrip()) > len(item) - len(item.lstrip())
    return _is_item(line) or (bool(item) and deeper)
