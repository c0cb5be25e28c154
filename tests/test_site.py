"""The documentation is whole: public names, commands, checks and measurements are all in it.

The pages themselves are built, and their code cells run, by `make docs`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

import refti
from refti.cli.main import commands

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
CHECKS = ROOT / "src" / "refti" / "checks"
MEASURED = [
    "measured",
    "hard_shapes",
    "mode_search",
    "table",
    "growth",
    "sources",
    "benchmarks",
]


def text_of(page: str) -> str:
    """A page of the documentation."""
    return (DOCS / f"{page}.md").read_text(encoding="utf-8")


def public_names() -> list[str]:
    """What `import refti` offers, modules among it."""
    return [name for name in dir(refti) if not name.startswith("_")]


@pytest.mark.parametrize("name", public_names())
def test_every_public_name_is_in_the_api(name: str):
    documented = re.findall(r"^\.\. auto\w+:: refti\.([\w.]+)", text_of("api"), re.M)
    # Of a module, a page may show the whole or its parts.
    assert any(entry == name or entry.startswith(f"{name}.") for entry in documented)


def verbs(group: click.Group, before: str = "refti") -> Iterator[str]:
    """Yields every command that there is, as it is typed."""
    for name, command in group.commands.items():
        yield f"{before} {name}"
        if isinstance(command, click.Group):
            yield from verbs(command, f"{before} {name}")


@pytest.mark.parametrize("verb", list(verbs(commands)))
def test_every_command_is_in_the_page_on_the_command_line(verb: str):
    assert verb in text_of("command_line")


def check_names() -> set[str]:
    """The names that the code gives to checks."""
    makers = {"at_most", "at_least", "Check"}
    return {
        node.args[0].value
        for file in CHECKS.glob("*.py")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        if node.func.id in makers and node.args and isinstance(node.args[0], ast.Constant)
    }


def test_every_check_has_its_entry_with_meaning_threshold_and_remedy():
    entries = dict(
        re.findall(r"^### ([^\n]*)\n\n(.*?)(?=^##|\Z)", text_of("checks"), re.M | re.DOTALL)
    )
    assert {name for title in entries for name in re.findall("`(.*?)`", title)} == check_names()
    for title, entry in entries.items():
        for part in ("*Meaning.*", "*Threshold.*", "*Remedy.*"):
            assert part in entry, title


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_code_on_a_page_is_run(page: Path):
    """Python is in cells, which the build runs, but on the paper's pages, which tests run."""
    if page.parent.name != "paper":
        assert "```python" not in page.read_text(encoding="utf-8")


@pytest.mark.parametrize("page", MEASURED)
def test_a_page_of_measurements_says_what_made_it(page: str):
    assert re.search(r"\*Made by `(?:make|refti) [^`]+`[^*]* refti [\d.]+, [^*]+\*", text_of(page))


def test_every_page_of_measurements_is_in_the_list():
    assert all(f"({page}.md" in text_of("validation") for page in MEASURED)


def test_the_build_is_part_of_continuous_integration():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    recipe = re.search(r"^docs: venv\n\t(.*)", makefile, re.M)
    assert recipe is not None
    assert "-W" in recipe[1].split()
    run = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert {"lint", "docs", "tests"} <= set(re.findall(r"^(?:CI=true )?make (\w+)", run, re.M))
