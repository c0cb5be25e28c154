"""A map of the code: its folders, sizes and import levels, and the files that one call visits.

`make map` prints it for the working tree; `make map REVISION=7e47e2e` for another revision. The
files that `refti.evidence(model)` passes through are found by watching the calls of a small run;
imports, the model's own file and the command line have no part in it.
"""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import click

from benchmarks.file_visits import Visit, returns, within

ROOT = Path(__file__).parents[1]
ENTRY = "evidence"


@dataclass(frozen=True)
class Function:
    """A function or method of the package, its lines with and without its docstring."""

    name: str
    file: str
    lines: int
    code: int


def main_line(root: Path) -> tuple[list[str], dict[str, list[str]]]:
    """What must be opened to follow the main line, as it is written.

    Returns:
        The files reached from `evidence` by calls within its own folder, in the order of the text,
        and, for every other folder, the files of it that these call by name.
    """
    sources = {name: tree for name, _, tree in _parsed(root)}
    start = next(n for n, t in sources.items() if ENTRY in _defined(t) and n.endswith(ENTRY))
    home = start.rpartition(".")[0]
    inside: dict[str, None] = {}
    outside: dict[str, dict[str, None]] = {}
    done: set[tuple[str, str]] = set()

    def follow(module: str, name: str) -> None:
        if (module, name) in done or name not in _defined(sources[module]):
            return
        done.add((module, name))
        inside.setdefault(module)
        names = _imported(sources[module], sources)
        for used in _uses(_defined(sources[module])[name]):
            target, attribute = _resolved(used, names, module, sources)
            if target is not None and target.rpartition(".")[0] == home:
                follow(target, attribute)
            elif target is not None:
                outside.setdefault(target.rpartition(".")[0], {}).setdefault(target)

    follow(start, ENTRY)
    return list(inside), {folder: list(files) for folder, files in outside.items()}


def _defined(tree: ast.Module) -> dict[str, ast.AST]:
    """The functions and classes of a module, by name."""
    kinds = (ast.FunctionDef, ast.ClassDef)
    return {node.name: node for node in tree.body if isinstance(node, kinds)}


def _uses(node: ast.AST) -> list[str]:
    """The names and `module.name` that a definition uses, in the order of its text."""
    found = []
    for part in ast.walk(node):
        if isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name):
            found.append((part.lineno, part.col_offset, f"{part.value.id}.{part.attr}"))
        elif isinstance(part, ast.Name):
            found.append((part.lineno, part.col_offset, part.id))
    return [name for *_, name in sorted(found)]


def _imported(tree: ast.Module, sources: Mapping[str, ast.Module]) -> dict[str, tuple[str, str]]:
    """The names that a module imports from the package: the module and the name in it, if any."""
    names = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "refti":
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                target = (whole, "") if whole in sources else (node.module or "", alias.name)
                names[alias.asname or alias.name] = target
    return names


def _resolved(
    used: str,
    names: Mapping[str, tuple[str, str]],
    module: str,
    sources: Mapping[str, ast.Module],
) -> tuple[str | None, str]:
    """The module and the definition that a used name means, if it is one of the package's."""
    head, _, attribute = used.partition(".")
    if head in names:
        target, name = names[head]
        found = (target, name or attribute)
    else:
        found = (module, head)
    known = found[0] in sources and found[1] in _defined(sources[found[0]])
    return found if known else (None, "")


# Sizes and levels.


def functions(root: Path) -> list[Function]:
    """Every function and method under a folder."""
    found = []
    for name, _, tree in _parsed(root):
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lines = (node.end_lineno or node.lineno) - node.lineno + 1
                first = node.body[0]
                text = ast.get_docstring(node, clean=False) is not None
                doc = (first.end_lineno or 0) - first.lineno + 1 if text else 0
                found.append(Function(f"{name}.{node.name}", name, lines, lines - doc))
    return found


def levels(root: Path) -> list[list[str]]:
    """The parts of the package by level: a part imports only from levels before its own.

    What imports a public name imports, by the table of contents, all that stands behind it.
    """
    wants: dict[str, set[str]] = {}
    for name, _, tree in _parsed(root):
        found = {_part(target) for target in _targets(tree)}
        wants[_part(name)] = wants.get(_part(name), set()) | found
    contents = wants.pop("refti")
    left = {}
    for part, found in wants.items():
        behind = set() if found <= set(wants) else contents
        left[part] = (found | behind) & set(wants) - {part}
    order: list[list[str]] = []
    while left:
        free = sorted(part for part, wanted in left.items() if not wanted & set(left))
        order.append(free or sorted(left))  # what is left is a ring
        left = {part: wanted for part, wanted in left.items() if part not in order[-1]}
    return order


def _targets(tree: ast.Module) -> Iterator[str]:
    """Yields the dotted names that a module imports from the package."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "refti":
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.split(".")[0] == "refti")


def _part(name: str) -> str:
    pieces = name.split(".")
    return pieces[1] if len(pieces) > 1 else "refti"


def _parsed(root: Path) -> Iterator[tuple[str, Path, ast.Module]]:
    for file in sorted(root.rglob("*.py")):
        name = ".".join(file.relative_to(root.parent).with_suffix("").parts)
        yield name.removesuffix(".__init__"), file, ast.parse(file.read_text(encoding="utf-8"))


# The page.


def page(root: Path, path: Sequence[Visit]) -> str:
    """The map as Markdown."""
    return "\n".join([*_sizes(root), "", *_levels(root), "", *_passed(path), "", *_read(root), ""])


def _sizes(root: Path) -> Iterator[str]:
    length = {
        file: len(file.read_text(encoding="utf-8").splitlines()) for _, file, _ in _parsed(root)
    }
    code = {
        file: n for file, n in length.items() if n > 1
    }  # a package's one-line docstring is none
    yield "| folder | files | lines | median file | largest file |"
    yield "|---|---:|---:|---:|---|"
    folders: dict[str, list[Path]] = {}
    for file in length:
        inner = file.relative_to(root).parts[:-1]
        folders.setdefault("/".join(inner) or "(top)", []).append(file)
    for folder, files in sorted(folders.items(), key=lambda item: (item[0] != "(top)", item[0])):
        sizes = [length[file] for file in files if file in code] or [1]
        largest = max(files, key=length.__getitem__)
        yield (
            f"| {folder} | {len(files)} | {sum(length[file] for file in files):,} "
            f"| {median(sizes):.0f} | {largest.name} {length[largest]} |"
        )
    largest = max(code, key=code.__getitem__)
    yield (
        f"| **all** | {len(length)} | {sum(length.values()):,} | {median(code.values()):.0f} "
        f"| {largest.relative_to(root)} {code[largest]} |"
    )
    own = functions(root)
    longest = max(own, key=lambda function: function.lines)
    densest = max(own, key=lambda function: function.code)
    yield ""
    yield (
        f"{len(own):,} functions: median {median(f.lines for f in own):.0f} lines "
        f"({median(f.code for f in own):.0f} without docstrings); the longest "
        f"`{longest.name}` {longest.lines}, without docstrings `{densest.name}` {densest.code}."
    )


def _levels(root: Path) -> Iterator[str]:
    found = levels(root)
    yield f"Import levels: {sum(map(len, found))} parts in {len(found)} levels."
    yield ""
    for index, level in enumerate(found, 1):
        yield f"{index}. {', '.join(level)}"


def _passed(path: Sequence[Visit]) -> Iterator[str]:
    back = returns(path)
    handed_on = {visit.entered_from for visit in path} - {None}
    yield (
        f"`refti.evidence(model)` passes through {len(path)} files with {len(back)} returns; "
        f"{len(handed_on)} of them hand on to files not seen before."
    )
    inside = within(path)
    yield ""
    yield (
        f"Of the folder where it begins: {len(inside)} files, {len(returns(inside))} returns: "
        + ", ".join(Path(visit.file).name for visit in inside)
        + "."
    )
    yield ""
    for index, visit in enumerate(path, 1):
        above = f", from {visit.entered_from}" if visit.entered_from else ""
        yield f"{index}. {visit.file}{above}{' (**back**)' if visit in back else ''}"


def _read(root: Path) -> Iterator[str]:
    inside, outside = main_line(root)
    reached = sum(map(len, outside.values()))
    yield (
        f"To read along the main line: {len(inside)} files of `{ENTRY}`'s own folder, which call "
        f"{reached} files of {len(outside)} other folders by name."
    )
    yield ""
    yield from (f"{index}. {name}" for index, name in enumerate(inside, 1))
    if outside:
        yield ""
    for folder, files in outside.items():
        yield f"- {folder}: {', '.join(name.rpartition('.')[2] for name in files)}"


@click.command()
@click.option("--revision", help="Another revision than the working tree.")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="A Markdown file to write.")
def main(revision: str | None, output: Path | None) -> None:
    """Print a map of the code."""
    with tempfile.TemporaryDirectory() as folder:
        tree = ROOT if revision is None else _checked_out(revision, Path(folder))
        text = page(tree / "src" / "refti", _traced(tree))
    click.echo(text)
    if output is not None:
        output.write_text(text, encoding="utf-8")


def _checked_out(revision: str, folder: Path) -> Path:
    """A copy of a revision's files."""
    archive = subprocess.run(["git", "-C", ROOT, "archive", revision], capture_output=True)
    if archive.returncode != 0:
        raise click.UsageError(f"There is no revision {revision!r}: {archive.stderr.decode()}")
    subprocess.run(["tar", "-x", "-C", folder], input=archive.stdout, check=True)
    return folder


def _traced(tree: Path) -> list[Visit]:
    """The visits of a tree's own code, in a process that imports it and nothing else of refti."""
    root = tree / "src" / "refti"
    environment = {**os.environ, "PYTHONPATH": str(root.parent)}
    command = [sys.executable, str(Path(__file__).with_name("file_visits.py")), str(root)]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return [Visit(*row) for row in json.loads(done.stdout.splitlines()[-1])]


if __name__ == "__main__":
    main()
