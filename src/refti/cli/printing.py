"""What commands print: results in words, and anything as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from refti.draws.cost import Cost
    from refti.results.comparison import Comparison
    from refti.results.result import Evidence


def print_json(value: Any) -> None:
    """Prints plain values; numbers that are not finite become strings."""
    from refti.results.files import plain

    click.echo(json.dumps(plain(value), indent=2, allow_nan=False))


def print_results(
    results: Mapping[str, Evidence], refused: Mapping[str, str], table: Comparison | None
) -> None:
    """Prints every result, every refusal, and how the models compare."""
    for name, result in results.items():
        click.echo(f"{name}: {result}")
        click.echo(f"  {_choice(result)}")
        click.echo(f"  {_cost(result.cost)}")
        if "log_z" in result.found.get("witness", {}):
            click.echo(f"  {_witness(result)}")
        if "rejected" in result.found:
            click.echo(f"  {_rejections(result)}")
    for name, message in refused.items():
        click.echo(f"{name}: {message}")
    if table is not None:
        click.echo(f"\n{table}\n\n{_bayes_factor(table)}")


def _choice(result: Evidence) -> str:
    """What the run chose by itself."""
    rungs = sum(len(leg.lambdas) for leg in result.draws)
    reference = result.found.get("chosen_reference")
    if reference is None:
        return f"{rungs} rungs"
    return f"{rungs} rungs from the reference {reference}: {result.found['chosen_because']}"


def _cost(cost: Cost) -> str:
    return (
        f"{cost.gradient_evaluations:,} gradients, {cost.density_evaluations:,} densities, "
        f"{cost.seconds:.1f} s, of which {cost.compile_seconds:.1f} s compiling"
    )


def _witness(result: Evidence) -> str:
    from refti.results.text import plus_minus

    second = result.found["witness"]
    value = plus_minus(second["log_z"], second["error"], decimals=4)
    return f"second estimate, by {second['way']}: log z = {value}"


def _rejections(result: Evidence) -> str:
    from refti.models.rejections import Rejections

    return str(Rejections(**result.found["rejected"]))


def _bayes_factor(table: Comparison) -> str:
    from refti.results.text import plus_minus

    best, second = table.rows[0].name, table.rows[1].name
    value = plus_minus(*table.log_bayes_factor(best, second), decimals=4)
    return f"log Bayes factor of {best} over {second}: {value}"
