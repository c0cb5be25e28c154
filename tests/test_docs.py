"""The pages on the paper are run: their blocks print what the pages say."""

import json
import os
import pkgutil
import re
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = sorted((ROOT / "docs" / "paper").glob("*.md"))
EVERYTHING = [*sorted((ROOT / "docs").rglob("*.md")), ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
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


# In a process of their own, which compiles as users' do: both kinds must not meet in one.
RUN = """
import contextlib, io, json, sys, traceback
told = {}
for page, blocks in json.load(sys.stdin).items():
    names, printed = {}, []
    try:
        for code in blocks:
            with contextlib.redirect_stdout(io.StringIO()) as one:
                exec(compile(code, page, "exec"), names)
            printed.append(one.getvalue())
        told[page] = printed
    except Exception:
        told[page] = traceback.format_exc()
print(json.dumps(told))
"""


# Blocks of these pages that make runs take long and are left to the long tests; the others are not.
DEAR = [ROOT / "docs" / "paper" / name for name in ("covid.md", "radiata.md", "two_dimensions.md")]


def blocks_of(page: Path, whole: bool = True) -> list[tuple[str, str]]:
    """The blocks of a page, each with what it prints, or nothing; dear runs if it is whole."""
    blocks = BLOCK.findall(page.read_text(encoding="utf-8"))
    return [one for one in blocks if whole or page not in DEAR or "refti.evidence(" not in one[0]]


@cache
def outputs(whole: bool) -> dict[str, list[str] | str]:
    """What the blocks of every page print, or all of dear ones; a traceback if one fails."""
    pages = DEAR if whole else PAGES
    codes = {page.name: [code for code, _ in blocks_of(page, whole)] for page in pages}
    done = subprocess.run(
        [sys.executable, "-c", RUN],
        input=json.dumps(codes),
        env={**os.environ, "XLA_FLAGS": ""},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_blocks_of_a_page_are_found(page: Path):
    text, blocks = page.read_text(encoding="utf-8"), blocks_of(page)
    assert len(blocks) == text.count("```python") > 0
    assert sum(bool(shown) for _, shown in blocks) == len(re.findall(r"^prints$", text, re.M)) > 0


@pytest.mark.parametrize(
    ("page", "whole"),
    [
        *(pytest.param(page, False, id=page.stem) for page in PAGES),
        *(
            pytest.param(page, True, id=f"all of {page.stem}", marks=pytest.mark.long)
            for page in DEAR
        ),
    ],
)
def test_the_blocks_of_a_page_print_what_it_shows(page: Path, whole: bool):
    blocks = blocks_of(page, whole)
    told = outputs(whole)[page.name]
    assert blocks
    assert isinstance(told, list), told
    for (_, shown), printed in zip(blocks, told, strict=True):
        assert not shown or same(printed, shown), printed


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_commands_of_a_page_exist(page: Path):
    from refti.cli.main import commands
    from refti.cli.reproduce import EXAMPLES

    for verb, example in re.findall(r"`refti (\w+) ?([\w-]*)", page.read_text(encoding="utf-8")):
        assert verb in commands.commands
        assert verb != "reproduce" or example in EXAMPLES


@pytest.mark.parametrize("page", EVERYTHING, ids=lambda page: page.stem)
def test_what_a_page_names_is_there(page: Path):
    text, makefile = page.read_text(encoding="utf-8"), (ROOT / "Makefile").read_text()
    names = re.findall(r"(?<![\w/.(-])((?:refti|benchmarks)(?:\.[a-zA-Z_]\w*)+)", text)
    files = re.findall(r"`((?:src|tests|benchmarks|docs|examples)/[\w./-]+)`", text)
    commands = re.findall(r"`make ([a-z_]+)", text)
    assert [name for name in names if not exists(name)] == []
    assert [file for file in files if not (ROOT / file).exists()] == []
    assert [name for name in commands if not re.search(rf"^{name}:", makefile, re.M)] == []


def exists(name: str) -> bool:
    """Whether a dotted name is a module, or something in a module."""
    try:
        pkgutil.resolve_name(name)
    except (AttributeError, ImportError):
        return False
    return True


@pytest.mark.parametrize("page", EVERYTHING, ids=lambda page: page.stem)
def test_the_settings_files_that_a_page_shows_can_be_read(page: Path):
    blocks = re.findall(r"```toml\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    assert blocks or page.name != "studies.md"
    for block in blocks:
        assert tomllib.loads(block)


def test_names_that_are_not_there_are_found():
    assert exists("refti.paper.covid.model.variant")
    assert exists("benchmarks.renewal")
    assert not exists("refti.paper.lanes")


def test_a_text_with_another_number_or_word_is_not_the_same():
    assert same("z = 1.52\n", "z = 1.53")
    assert not same("z = 1.52", "z = 1.62")
    assert not same("z = 1.52", "y = 1.52")
    assert not same("z = 1.52", "z = 1.52 1.52")
