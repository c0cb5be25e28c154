"""Figures of the benchmark: seconds to an equal true error, and true against claimed errors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

from benchmarks.peers.problems import Problem
from benchmarks.peers.programs import PROGRAMS
from benchmarks.peers.summary import WANTED, Summary

# Okabe and Ito's colours, told apart by those who do not tell red from green; markers do the rest.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#1A1A1A")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "h", "*", "d", "p")
UNREADABLE = 1e-4  # nats: errors below are drawn there


def style(program: str) -> dict[str, Any]:
    """The colour and the marker of a program, the same in every figure."""
    turn = list(PROGRAMS).index(program)
    filled = program.startswith("refti")
    colour = COLOURS[turn % len(COLOURS)]
    return {
        "marker": MARKERS[turn % len(MARKERS)],
        "markerfacecolor": colour if filled else "white",
        "markeredgecolor": colour,
        "markersize": 9 if program == "refti" else 7,
        "linestyle": "none",
        "markeredgewidth": 1.5,
    }


def draw_seconds(found: Sequence[Summary], known: dict[str, Problem], file: Path) -> None:
    """Seconds to a true error of 0.05, a row a problem; programs that stay wrong are left out."""
    names = list(dict.fromkeys(one.problem for one in found))
    figure = Figure(figsize=(7.5, 1.6 + 0.42 * len(names)), layout="constrained")
    axes = figure.subplots()
    for program in PROGRAMS:
        points = [
            (one.seconds_to_wanted, names.index(one.problem))
            for one in found
            if one.program == program and math.isfinite(one.seconds_to_wanted)
        ]
        if points:
            x, y = zip(*points, strict=True)
            axes.plot(x, y, **style(program), label=PROGRAMS[program].label)
    axes.set_xscale("log")
    _plain_numbers(axes.xaxis)
    axes.set_yticks(range(len(names)), [f"{known[n].about} ({known[n].dim})" for n in names])
    axes.invert_yaxis()
    axes.grid(axis="both", color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.set_xlabel(f"seconds from a cold start to a true error of {WANTED} nats")
    figure.legend(loc="outside lower center", ncols=3, frameon=False, fontsize=8)
    _save(figure, file)


def draw_claims(found: Sequence[Summary], file: Path) -> None:
    """True errors over claimed ones: on the line they are as large as they say."""
    figure = Figure(figsize=(6.0, 5.6), layout="constrained")
    axes = figure.subplots()
    seen = []
    for program in PROGRAMS:
        points = [
            (max(one.claimed, UNREADABLE), max(one.rms, UNREADABLE))
            for one in found
            if one.program == program and one.claimed > 0 and math.isfinite(one.rms)
        ]
        if points:
            x, y = zip(*points, strict=True)
            seen += [*x, *y]
            axes.plot(x, y, **style(program), label=PROGRAMS[program].label)
    if seen:
        ends = [min(seen) / 1.5, max(seen) * 1.5]
        axes.plot(ends, ends, color="#767676", linewidth=1, zorder=0)
        axes.set_xlim(ends)
        axes.set_ylim(ends)
    axes.set_xscale("log")
    axes.set_yscale("log")
    _plain_numbers(axes.xaxis)
    _plain_numbers(axes.yaxis)
    axes.set_xlabel("claimed error, nats")
    axes.set_ylabel("true error, nats")
    axes.grid(color="#dddddd", linewidth=0.6)
    figure.legend(loc="outside lower center", ncols=3, frameon=False, fontsize=8)
    _save(figure, file)


def _plain_numbers(axis: Any) -> None:
    """Numbers at 1, 2 and 5 of every power of ten, as one writes them."""
    axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axis.set_minor_formatter(NullFormatter())


def _save(figure: Figure, file: Path) -> None:
    """Writes a figure whose bytes depend on nothing but what it shows."""
    with matplotlib.rc_context({"svg.hashsalt": "refti", "svg.fonttype": "none"}):
        figure.savefig(file, metadata={"Date": None} if file.suffix == ".svg" else None)
