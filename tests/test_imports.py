"""Data flows one way and imports obey it; importing refti is light; its names are in order."""

import ast
import importlib
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import refti

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "refti"

# Left to right as the data flows. A module imports from its own part and from parts to its left.
ORDER = [
    "importing",
    "errors",
    "tuning",
    "progress",
    "interruption",
    "executors",  # knows nothing of models or runs: where any work runs
    "models",
    "factors",  # matrices of thousands of rows, which whoever searches or samples needs
    "inputs",
    "search",
    "references",
    "coordinates",
    "draws",  # what sampling makes stands before it, since it cannot be made without being known
    "paths",
    "sampling",
    "estimators",
    "checks",
    "results",
    "run",
    "study",
    "suite",
    "studies",
    "plots",
    "reports",
    "paper",
    "calibrate",
    "cli",
]
# Only the command line, the outermost skin, may import these; nothing imports the command line.
LEAVES = {"paper", "calibrate", "cli"}
# What people look at: leaves too, but the table of contents names them, and users may use them.
SHOWN = {"plots", "reports"}
# They show what a user can do, so they use what a user can use.
USERS = {"paper", "calibrate", "benchmarks"}
# Modules that are public as a whole: what stands in them, not what stands in their parts.
PUBLIC_MODULES = {"plots", "suite"}
# The pages of the paper's examples are made by what makes those of users.
PUBLIC_PARTS = {*PUBLIC_MODULES, "reports"}
# What users share that says nothing about evidence: processes, files, words.
SHARED = "studies"
BELOW_THE_WAIST = {"draws", "estimators", "checks", "results"}
ABOVE_THE_WAIST_ONLY = {"jax", "jaxlib", "blackjax", "numpyro", "optax"}


def imported_names(source: str, module: str, *, is_package: bool = False) -> Iterator[str]:
    """Yields every dotted name that a module imports, wherever the import stands in it.

    `from a import b` yields `a.b`, because b may be a module; `refti.x` read as an attribute
    after `import refti` yields `refti.x`.
    """
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name != "refti")
        elif isinstance(node, ast.ImportFrom):
            ancestors = module.split(".")[: None if is_package else -1]
            start = ancestors[: len(ancestors) - node.level + 1] if node.level else []
            base = ".".join([*start, *([node.module] if node.module else [])])
            yield from (f"{base}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Attribute) and getattr(node.value, "id", None) == "refti":
            yield f"refti.{node.attr}"


def faults_of(module: str, names: list[str], public: set[str]) -> list[str]:
    """Returns what is wrong with the names that one module imports."""
    part = part_of(module)
    if part not in ORDER and part not in USERS:
        return [f"{module} has no place in ORDER"]
    faults = []
    for name in names:
        target = part_of(name)
        if name.split(".")[0] in ABOVE_THE_WAIST_ONLY and part in BELOW_THE_WAIST:
            faults.append(f"{module} is below the waist and imports {name}")
        if name.split(".")[0] != "refti" or target == part:
            continue
        if part in USERS:
            # Submodule and function may share a name, as evidence does: then it is one level deep.
            is_public = name.count(".") == 1 and target in public
            is_public |= name.count(".") <= 2 and target in {*PUBLIC_PARTS, SHARED}
            if not is_public and not (part == "benchmarks" and target == "paper"):
                faults.append(f"{module} is a user and imports {name}")
        elif target in LEAVES | SHOWN and part not in {"cli", *SHOWN}:
            faults.append(f"{module} imports the leaf {name}")
        elif target not in ORDER:
            if part not in LEAVES | SHOWN:
                faults.append(f"{module} imports {name} from the table of contents")
        elif ORDER.index(target) > ORDER.index(part):
            faults.append(f"{module} imports {name} from its right")
    return faults


def part_of(name: str) -> str:
    """Returns the part that a dotted name belongs to: refti.run.store gives run."""
    pieces = name.split(".")
    part = pieces[1] if pieces[0] == "refti" and len(pieces) > 1 else pieces[0]
    return "cli" if part == "__main__" else part


@cache
def modules() -> list[tuple[str, Path]]:
    """Returns the name and file of every module of the package and of every benchmark."""
    found = []
    for folder, above in ((PACKAGE, PACKAGE.parent), (ROOT / "benchmarks", ROOT)):
        for file in sorted(folder.rglob("*.py")):
            name = ".".join(file.relative_to(above).with_suffix("").parts)
            found.append((name.removesuffix(".__init__"), file))
    return [(name, file) for name, file in found if name != "refti"]


def run_python(code: str) -> str:
    """Returns what a fresh interpreter prints for this code."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@cache
def imports_of(module: str, file: Path) -> list[str]:
    """Returns the names that a module's file imports."""
    is_package = file.name == "__init__.py"
    return list(imported_names(file.read_text(), module, is_package=is_package))


def test_imports_flow_one_way():
    public = set(refti.__all__)
    found = [faults_of(name, imports_of(name, file), public) for name, file in modules()]
    assert len(found) > 400
    assert [fault for faults in found for fault in faults] == []


def test_no_leaf_is_in_the_table_of_contents():
    names = imported_names((PACKAGE / "__init__.pyi").read_text(), "refti", is_package=True)
    assert not {part_of(name) for name in names} & LEAVES


@pytest.mark.parametrize(
    ("module", "source", "fault"),
    [
        ("refti.models.model", "from refti.errors import ModelError", None),
        ("refti.models.model", "from ..errors import ModelError", None),
        ("refti.references.gaussian", "from refti.references import registry", None),
        ("refti.references.gaussian", "from ..models.model import Model", None),
        ("refti.cli.report", "def report():\n    from refti.reports import report", None),
        ("refti.reports.figures", "from refti.plots.path import path", None),
        ("refti.paper.report.page", "from refti.reports import render", None),
        ("refti.paper.report.page", "from refti.reports.svg import StyleSheet", "is a user"),
        ("refti.plots.path", "from refti.reports import report", "from its right"),
        ("refti.results.result", "from refti.reports import report", "the leaf refti.reports"),
        ("refti.plots", "import refti\nrefti.load", None),
        ("refti.estimators.mbar", "import numpy\nimport scipy.special", None),
        ("refti.paper.radiata.model", "from refti import Model\nfrom refti import evidence", None),
        ("refti.paper.radiata.model", "from refti.paper.report.findings import Table", None),
        ("benchmarks.core_table", "from refti.paper.radiata import model", None),
        ("benchmarks.core_table", "from refti.suite import quartic", None),
        ("refti.calibrate.runs", "import refti\nfrom refti import suite\nrefti.evidence", None),
        ("refti.calibrate.choice", "from refti.calibrate.runs import Run", None),
        ("refti.paper.covid.jobs", "from refti.studies import run_in_processes", None),
        ("refti.cli.main", "from refti.calibrate.runs import Run", None),
        ("refti.suite.bent", "from refti.models.model import Model", None),
        ("refti.models.model", "from refti.run.evidence import evidence", "from its right"),
        ("refti.models.model", "from ..run.evidence import evidence", "from its right"),
        ("refti.models.model", "def late():\n    import refti.paths.path", "from its right"),
        ("refti.references.gaussian", "from ..paths.path import Leg", "from its right"),
        ("refti.models.model", "import refti\nrefti.sampling.rung", "from its right"),
        ("refti.run.evidence", "from refti import plots", "the leaf refti.plots"),
        ("refti.results.compare", "from refti.cli import main", "the leaf refti.cli"),
        ("refti.models.model", "from refti import Model", "table of contents"),
        ("refti.draws.draws", "import jax", "below the waist"),
        ("refti.estimators.mbar", "from jax import numpy", "below the waist"),
        ("refti.paper.radiata.model", "from refti.models.model import Model", "is a user"),
        ("refti.paper.radiata.model", "from refti.run.evidence import evidence", "is a user"),
        ("refti.paper.radiata.model", "import refti\nrefti.sampling", "is a user"),
        ("benchmarks.core_table", "from refti.sampling import leg", "is a user"),
        ("refti.calibrate.runs", "from refti.suite.bent import bimodal", "is a user"),
        ("refti.calibrate.runs", "from refti.progress import Progress", "is a user"),
        ("refti.calibrate.runs", "from refti.studies.processes import Job", "is a user"),
        ("refti.run.evidence", "from refti.studies import plain", "from its right"),
        ("refti.calibrate.runs", "from refti.paper.radiata import model", "is a user"),
        ("refti.run.evidence", "from refti.calibrate import runs", "the leaf refti.calibrate.runs"),
        ("refti.suite.bent", "from refti.run.evidence import evidence", None),
        ("refti.utils", "import math", "no place in ORDER"),
    ],
)
def test_the_checker_finds_what_it_is_for(module: str, source: str, fault: str | None):
    faults = faults_of(module, list(imported_names(source, module)), {"Model", "evidence", "load"})
    assert len(faults) == (0 if fault is None else 1)
    assert fault is None or fault in faults[0]


def test_importing_refti_starts_neither_jax_nor_numpyro():
    loaded = run_python("import sys, refti; print(*sys.modules)").split()
    assert "refti" in loaded
    assert not {"jax", "numpyro"} & set(loaded)


def test_nothing_below_the_waist_starts_jax():
    names = [name for name, _ in modules() if part_of(name) in BELOW_THE_WAIST]
    assert names
    loaded = run_python(f"import sys, {', '.join(names)}; print(*sys.modules)").split()
    assert set(names) <= set(loaded)
    assert "jax" not in loaded


def test_public_names_are_sorted_complete_and_there():
    assert refti.__all__ == sorted(set(refti.__all__))
    assert [name for name in refti.__all__ if not hasattr(refti, name)] == []
    source = (PACKAGE / "__init__.pyi").read_text()
    listed = {
        name.split(".")[-1]
        for name in imported_names(source, "refti", is_package=True)
        if name.startswith("refti.")
    }
    bound = {
        name
        for name, value in vars(refti).items()
        if not name.startswith("_") and str(getattr(value, "__module__", "")).startswith("refti")
    }
    assert listed - PUBLIC_MODULES == set(refti.__all__)
    assert bound <= set(refti.__all__)


def test_no_public_name_is_hidden_by_a_module_of_the_same_name():
    # Importing refti.compare would make Python bind a module over the function compare.
    top = {name.split(".")[1] for name, _ in modules() if name.startswith("refti.")}
    assert not top & set(refti.__all__)


def test_no_module_leads_back_to_itself():
    names = {name for name, _ in modules()}
    graph = {}
    for name, file in modules():
        found = imports_of(name, file)
        # `from a import b` may name a module or something in one.
        graph[name] = {t if t in names else t.rpartition(".")[0] for t in found} & names - {name}
    assert cycle_in(graph) is None
    assert cycle_in({"a": {"b"}, "b": {"c"}, "c": {"a"}}) is not None


def cycle_in(graph: dict[str, set[str]]) -> list[str] | None:
    """Returns modules that import each other in a ring, if there are any."""
    try:
        list(TopologicalSorter(graph).static_order())
    except CycleError as error:
        return error.args[1]
    return None


def test_the_suite_is_reached_without_an_import_of_its_own():
    assert run_python("import refti; print(refti.suite.find('gaussian').dim)") == "3"
    assert "suite" in dir(refti)


def test_every_exception_is_public():
    errors = importlib.import_module("refti.errors")
    kinds = {
        name
        for name, value in vars(errors).items()
        if isinstance(value, type) and issubclass(value, errors.RefTIError)
    }
    assert kinds <= set(refti.__all__)


FEW_AT_THE_TOP = 5  # modules beside __init__
MOST_LINES = 350


def first_line(source: str) -> str:
    """Returns the first line of a module's docstring."""
    return (ast.get_docstring(ast.parse(source)) or "").split("\n")[0]


class TestTree:
    """A tree that is read from top to bottom, of files that fit in the head."""

    def test_few_modules_lie_at_the_top(self):
        top = {file.stem for file in PACKAGE.glob("*.py")} - {"__init__", "__main__"}
        assert len(top) <= FEW_AT_THE_TOP, sorted(top)

    def test_no_file_is_too_long(self):
        sizes = {name: len(file.read_text().splitlines()) for name, file in modules()}
        assert {name: size for name, size in sizes.items() if size > MOST_LINES} == {}

    def test_a_module_begins_with_a_sentence(self):
        sources = {name: source for name, file in modules() if (source := file.read_text())}
        firsts = {name: first_line(source) for name, source in sources.items()}
        assert {n: line for n, line in firsts.items() if not line.endswith((".", "!", "?"))} == {}

    def test_tests_mirror_the_tree(self):
        folders = {file.parent.name for file in PACKAGE.glob("*/__init__.py")}
        assert folders
        assert folders - {folder.name for folder in (ROOT / "tests").iterdir()} == set()

    def test_the_order_names_what_is_there(self):
        there = {part_of(name) for name, _ in modules()} - {"benchmarks"}
        assert there == set(ORDER) & there
        assert set(ORDER) <= there
