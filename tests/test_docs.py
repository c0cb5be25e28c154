"""The pages on the paper are run: their blocks print what the pages say."""

import contextlib
import io
import re
from pathlib import Path

import pytest

PAGES = sorted((Path(__file__).parents[1] / "docs" / "paper").glob("*.md"))
NUMBER = re.compile(r"-?\d+\.\d+")
BLOCK = re.compile(r"```python\n(.*?)```(?:\s*prints\n\n```\n(.*?)```)?", re.DOTALL)
# Another processor rounds differently, after which chains part.
TOLERANCE = 0.04


def same(printed: str, shown: str) -> bool:
    """Whether two texts are the same but for numbers with a point that are close to each other."""
    if NUMBER.sub("#", printed).split() != NUMBER.sub("#", shown).split():
        return False
    pairs = zip(NUMBER.findall(printed), NUMBER.findall(shown), strict=True)
    return all(abs(float(a) - float(b)) < TOLERANCE for a, b in pairs)


def test_there_are_pages():
    assert PAGES


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_blocks_of_a_page_print_what_it_shows(page: Path):
    text = page.read_text(encoding="utf-8")
    blocks = BLOCK.findall(text)
    assert len(blocks) == text.count("```python") > 0
    assert sum(bool(shown) for _, shown in blocks) == len(re.findall(r"^prints$", text, re.M)) > 0
    names: dict[str, object] = {}
    for code, shown in blocks:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, page.name, "exec"), names)
        assert not shown or same(printed.getvalue(), shown), printed.getvalue()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_commands_of_a_page_exist(page: Path):
    from refti.cli.main import commands
    from refti.cli.reproduce import EXAMPLES

    for verb, example in re.findall(r"`refti (\w+) ?([\w-]*)", page.read_text(encoding="utf-8")):
        assert verb in commands.commands
        assert verb != "reproduce" or example in EXAMPLES


def test_a_text_with_another_number_or_word_is_not_the_same():
    assert same("z = 1.52\n", "z = 1.53")
    assert not same("z = 1.52", "z = 1.62")
    assert not same("z = 1.52", "y = 1.52")
    assert not same("z = 1.52", "z = 1.52 1.52")
