"""The group of all commands, and what becomes of their errors."""

from __future__ import annotations

import sys

import click

from refti.cli.calibrate import calibrate
from refti.cli.compare import compare
from refti.cli.exit_codes import BAD_INPUT, INTERRUPTED
from refti.cli.reproduce import reproduce
from refti.cli.run import run
from refti.cli.study import plan, script, worker
from refti.errors import RefTIError


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="refti")
def commands() -> None:
    """The evidence of Bayesian models by referenced thermodynamic integration.

    Exit codes: 0 trusted, 1 finished but not trusted, 2 bad input.
    """


for command in (run, compare, plan, worker, script, calibrate, reproduce):
    commands.add_command(command)


def main() -> None:
    """Runs a command and ends with its exit code; bad input is told without a traceback."""
    try:
        code = commands(standalone_mode=False)
    except click.exceptions.Exit as done:
        code = done.exit_code
    except click.ClickException as error:
        error.show()
        code = BAD_INPUT
    except (RefTIError, OSError) as error:
        click.echo(f"refti: {error}", err=True)
        code = BAD_INPUT
    except (KeyboardInterrupt, click.Abort):
        click.echo("refti: interrupted; finished results are kept.", err=True)
        code = INTERRUPTED
    sys.exit(code)
