"""The group of all commands, and what becomes of their errors."""

from __future__ import annotations

import json
import os
import shlex
import sys
import warnings
from typing import Any

import click

from refti import progress
from refti.cli.calibrate import calibrate
from refti.cli.compare import compare
from refti.cli.doctor import doctor
from refti.cli.exit_codes import BAD_INPUT, IN_WORDS, STOPPED_EARLY
from refti.cli.init import init
from refti.cli.printing import say
from refti.cli.report import report
from refti.cli.reproduce import reproduce
from refti.cli.run import run
from refti.cli.status import status
from refti.cli.stopping import STOPPING, leave
from refti.cli.study import plan, script
from refti.cli.verify import verify
from refti.cli.wording import in_command_line_words
from refti.cli.worker import worker
from refti.errors import RefTIError, StoppedEarlyError


@click.group(
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=f"Exit codes: {IN_WORDS}.",
)
@click.version_option(package_name="refti")
def commands() -> None:
    """The evidence of Bayesian models by referenced thermodynamic integration.

    \b
    Examples:
      refti init study                 # an example to start from
      refti run study/model.py:curved  # the log evidence of a model
      refti run --help                 # each command has its own help
    """


for command in (
    run,
    compare,
    report,
    plan,
    status,
    verify,
    worker,
    script,
    calibrate,
    reproduce,
    doctor,
    init,
):
    commands.add_command(command)


def main() -> None:
    """Runs a command and ends with its exit code; errors are told without a traceback."""
    STOPPING.listen()
    os.environ["REFTI_COMMAND"] = shlex.join(["refti", *sys.argv[1:]])  # kept with what it makes
    warnings.showwarning = _show_warning  # type: ignore[assignment]
    leave(STOPPING.run(_command, _stopped))


def _command() -> int:
    """Runs the command that was asked for; returns its exit code."""
    try:
        return int(commands(standalone_mode=False) or 0)
    except click.exceptions.Exit as done:
        return done.exit_code
    except (KeyboardInterrupt, click.Abort):
        return _stopped()
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        return BAD_INPUT
    except click.ClickException as error:
        return _tell(BAD_INPUT, "UsageError", _usage(error))
    except (RefTIError, OSError) as error:
        # A compiler that Ctrl-C ended as well is no error of the program's.
        return _stopped() if STOPPING.heard else _tell_error(error)


def _stopped() -> int:
    """Tells that the command was stopped, and where it was then."""
    stage = next((display.stage for display in progress.shown()), "")
    where = f" while {stage}" if stage else ""
    message = f"Stopped{where}: no estimate yet. Finished results are kept."
    return _tell(STOPPED_EARLY, "Interrupted", message, stage=stage or None)


def _show_warning(message: Warning | str, category: type[Warning], *place: Any) -> None:
    """Tells a warning in a line, without the place in the program that gave it."""
    del category, place
    say(f"refti: {message}")


def _tell_error(error: RefTIError | OSError) -> int:
    # Settings of a study are given by the names that Python has for them.
    message = in_command_line_words(str(error)) if sys.argv[1:2] == ["run"] else str(error)
    if isinstance(error, StoppedEarlyError):
        return _tell(STOPPED_EARLY, type(error).__name__, message, stage=error.stage)
    return _tell(BAD_INPUT, type(error).__name__, message)


def _tell(code: int, kind: str, message: str, **more: Any) -> int:
    """Tells an error in words, and as JSON to whoever asked for JSON; returns the exit code."""
    say(f"refti: {message}")
    if "--json" in sys.argv[1:]:
        error = {"kind": kind, "message": message, **more}
        click.echo(json.dumps({"error": error, "exit_code": code}, indent=2))
    return code


def _usage(error: click.ClickException) -> str:
    """What was wrong with the command, and where its help is."""
    context = getattr(error, "ctx", None)
    message = error.format_message()
    for said, told in _IN_PLAIN_WORDS.items():
        message = message.replace(said, told)
    message += "" if message.endswith((".", "?", "?)")) else "."
    if context is None:
        return message
    return f"{message} See {context.command_path} --help."


_IN_PLAIN_WORDS = {
    "is not a valid float range": "is not a number",
    "is not a valid integer range": "is not a whole number",
    "is not a valid integer": "is not a whole number",
    "is not a valid float": "is not a number",
}
