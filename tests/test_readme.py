"""The README is run: its example prints what it says, and its commands exist."""

import re
from pathlib import Path

from benchmarks.settings_tables import PAGE, with_tables

README = Path(__file__).parents[1] / "README.md"
NUMBER = re.compile(r"-?\d+\.\d+")
SEARCHED = re.compile(r"\d[\d,.]*(?= (?:climbs|values|evaluations|% of the))")


def test_the_example_prints_what_the_readme_shows(capsys):
    text = README.read_text(encoding="utf-8")
    code = re.search(r"```python\n(.*?)```", text, re.DOTALL)
    shown = re.search(r"prints\n\n```\n(.*?)```", text, re.DOTALL)
    assert code is not None
    assert shown is not None
    exec(compile(code[1], "README.md", "exec"), {})
    # Climbs that are rounded otherwise take another step or two.
    printed, shown_text = (
        SEARCHED.sub("some", each) for each in (capsys.readouterr().out, shown[1])
    )
    assert NUMBER.sub("#", printed).split() == NUMBER.sub("#", shown_text).split()
    # Another processor rounds differently, after which chains part: errors here are about 0.006.
    for got, expected in zip(NUMBER.findall(printed), NUMBER.findall(shown_text), strict=True):
        assert abs(float(got) - float(expected)) < 0.04


def test_commands_of_the_readme_exist():
    text = README.read_text(encoding="utf-8")
    makefile = (README.parent / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"`?make (\w+)", text):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
    from refti.cli.main import commands

    for verb in re.findall(r"^refti (\w+)", text, re.MULTILINE):
        assert verb in commands.commands


def test_the_tables_of_families_and_kernels_are_those_of_the_registries():
    text = PAGE.read_text(encoding="utf-8")
    assert '"covariance"' in text
    assert with_tables(text) == text, "run python -m benchmarks.settings_tables"
