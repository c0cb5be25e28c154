"""The evidences of models after published ones, and the tables of docs/sources.md.

    python -m benchmarks.case_studies [--command-line] [--page] [name ...]

Stan programs, and models of PyMC, Bambi and NumPyro. Beside each stands the evidence by another
way, where there is one: a closed form, quadrature, importance sampling or a particle filter that
uses neither refti nor the model's own language.

Each runs in a process of its own, so that none can end the others, and what came of it is a line of
runs/studies.jsonl. What the code as it is now has run is not run again. Programs are compiled into
runs/studies_cache, which is emptied where there is nothing to go on from.

With --command-line each is run by the command line as well, and what it says is compared to the
last bit. With --page nothing is run, and the page is written from the newest line of every model,
whatever code made it.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import resource
import shutil
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path

from tests.case_studies import STUDIES
from tests.case_studies.exact import exact as of_program
from tests.case_studies.integrals import Exact
from tests.gallery import PUBLISHED
from tests.gallery.exact import EXACT

import refti
from benchmarks.case_study_page import with_tables
from benchmarks.case_study_record import Record, read_record
from benchmarks.made_by import revision
from refti.studies import append_record, read_records

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "sources.md"
RECORDS = ROOT / "runs" / "studies.jsonl"
CACHE = ROOT / "runs" / "studies_cache"
MAX_EVALUATIONS = 5_000_000
MOST_SECONDS = 1800  # of one process, which is taken for one that hangs


@dataclass(frozen=True)
class Row:
    """A model after a published one.

    Attributes:
        name: its own.
        after: the published one.
        make: makes the model.
        other: its evidence by another way, or None.
        arguments: those by which the command line runs it.
    """

    name: str
    after: str
    make: Callable[[], refti.Model]
    other: Callable[[], Exact | None]
    arguments: tuple[str, ...]


def tables() -> dict[str, list[Row]]:
    """All of them, by the table in which they stand."""
    programs = [
        Row(
            study.name,
            study.after,
            partial(refti.from_stan, study.program, data=study.data),
            partial(of_program, study.name),
            (str(study.program), "--data", str(study.data)),
        )
        for study in STUDIES
    ]
    others = [
        Row(
            one.name,
            one.after,
            one.model,
            EXACT.get(one.name, _nothing),
            (f"tests.gallery.{one.place}",),
        )
        for one in PUBLISHED
    ]
    return {"Stan programs": programs, "other models": others}


def main() -> None:
    """Runs what has not been run, tells a line a model, and writes the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="models; all where none is named")
    parser.add_argument("--command-line", action="store_true", help="by the command line as well")
    parser.add_argument("--page", action="store_true", help="run nothing, write the page alone")
    parser.add_argument("--records", type=Path, default=RECORDS)
    parser.add_argument("--alone", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    rows = [row for table in tables().values() for row in table]
    unknown = set(given.names) - {row.name for row in rows}
    if unknown:
        parser.error(f"There is no model {', '.join(sorted(unknown))}.")
    wanted = [row for row in rows if not given.names or row.name in given.names]
    if given.alone:
        print(json.dumps(asdict(run_here(wanted[0]))))
        return
    if not given.page:
        run_missing(wanted, given.records, command_line=given.command_line)
    write_page(given.records)


def run_missing(rows: Sequence[Row], records: Path, *, command_line: bool) -> None:
    """Runs the models of which there is no line that the code as it is now has made."""
    code = code_now()
    done = {r.name: r for r in read_records(records, read_record) if r.code == code}
    if not done:
        shutil.rmtree(CACHE, ignore_errors=True)
    for row in rows:
        record = done.get(row.name) or replace(run_apart(row), code=code, revision=revision())
        if command_line and not record.command_line:
            record = replace(record, command_line=beside_command_line(row, record))
        if record is not done.get(row.name):
            append_record(records, asdict(record))
        verdict = "trusted" if record.trusted else f"not trusted: {record.words}"
        number = "no number" if record.log_z is None else f"{record.log_z:.3f} ± {record.error:.3f}"
        told = [row.name, number, verdict, f"{record.processor_seconds:.0f} processor seconds"]
        if record.command_line:
            told.append(f"by the command line {record.command_line}")
        print(", ".join(told), flush=True)


def write_page(records: Path) -> None:
    """Writes the tables of the page, each model as its newest line has it."""
    newest = {record.name: record for record in read_records(records, read_record)}
    shown = {
        name: [(row.name, newest.get(row.name)) for row in table]
        for name, table in tables().items()
    }
    after = {row.name: row.after for table in tables().values() for row in table}
    PAGE.write_text(with_tables(PAGE.read_text("utf-8"), shown, after), encoding="utf-8")
    print(f"{PAGE.relative_to(ROOT)} tells of {len(newest)} models.")


def run_apart(row: Row) -> Record:
    """What came of a model in a process of its own."""
    ended = _in_a_process([sys.executable, "-m", "benchmarks.case_studies", "--alone", row.name])
    try:
        return read_record(json.loads(ended.stdout.splitlines()[-1]))
    except (ValueError, IndexError):
        words = f"the process ended with {ended.returncode}: {ended.stderr.strip()[-300:]}"
        return Record(row.name, "", "", words=words)


def run_here(row: Row) -> Record:
    """What comes of a model in this process, with its evidence by another way."""
    began = time.perf_counter()
    warnings.simplefilter("ignore")
    try:
        model = row.make()
        result = run(row.name, model)
    except refti.RefTIError as error:
        ran = Record(row.name, "", "", words=str(error))
    else:
        failed = [check for check in result.checks if not check.ok]
        ran = Record(
            row.name,
            "",
            "",
            dim=model.dim,
            log_z=float(result.log_z),
            error=float(result.error),
            trusted=bool(result.trusted),
            reasons=tuple(check.name for check in failed),
            words=" ".join(check.advice for check in failed),
            gradients=int(result.cost.gradient_evaluations),
            densities=int(result.cost.density_evaluations),
        )
    ran = replace(ran, processor_seconds=_processor_seconds(), seconds=time.perf_counter() - began)
    other = row.other()
    return replace(ran, other=None if other is None else (float(other[0]), float(other[1])))


def run(name: str, model: refti.Model) -> refti.Evidence:
    """The evidence of a model, as the table has it."""
    return refti.evidence(
        model, max_evaluations=MAX_EVALUATIONS, seed=seed_of(name), progress=False
    )


def seed_of(name: str) -> int:
    """A seed of its own for every model, as the command line gives to several under seed 0.

    Models that share random numbers err alike: one unlucky draw would show in many rows.
    """
    digest = hashlib.sha256(f"0\0{name}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1


def beside_command_line(row: Row, own: Record) -> str:
    """Whether the command line says the same, or what it says."""
    command = [sys.executable, "-m", "refti", "run", *row.arguments, "--json"]
    command += ["--max-evaluations", str(MAX_EVALUATIONS), "--seed", str(seed_of(row.name))]
    ended = _in_a_process(command)
    try:
        (said,) = json.loads(ended.stdout)["results"].values()
    except (ValueError, KeyError):
        if own.log_z is None and ended.returncode == 2:
            return "same"  # refused both times
        told = " ".join(ended.stderr.split())[-300:]
        return f"no number, ended with {ended.returncode}: {told}"
    trusted = ended.returncode == 0
    if (said["value"], said["error"], trusted) == (own.log_z, own.error, own.trusted):
        return "same"
    return f"{said['value']:.6f} ± {said['error']:.6f}, {'' if trusted else 'not '}trusted"


def code_now() -> str:
    """A hash of refti and of the models, by which lines of other code are told."""
    folders = ("src/refti", "tests/case_studies", "tests/gallery")
    files = sorted(_files(ROOT / folder for folder in folders))
    digest = hashlib.sha256()
    for path in files:
        digest.update(path.relative_to(ROOT).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


def _files(folders: Iterable[Path]) -> list[Path]:
    kinds = {".py", ".stan", ".json", ".cpp", ".hpp"}
    return [path for folder in folders for path in folder.rglob("*") if path.suffix in kinds]


def _in_a_process(command: list[str]) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "REFTI_CACHE": str(CACHE)}
    try:
        return subprocess.run(
            command,
            capture_output=True,
            text=True,
            check=False,
            cwd=ROOT,
            env=environment,
            timeout=MOST_SECONDS,
        )
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, -1, "", f"no end after {MOST_SECONDS} s")


def _processor_seconds() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def _nothing() -> None:
    """No other way."""


if __name__ == "__main__":
    main()
