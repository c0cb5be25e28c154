"""Commands in cells, `!refti run ...`: what they print, and an error where they fail."""

import subprocess

from IPython import get_ipython


def run(command: str) -> None:
    """Prints what a command prints. Raises CalledProcessError where it, or a part of it, fails."""
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command], stdout=subprocess.PIPE, text=True
    )
    print(done.stdout, end="")
    done.check_returncode()


get_ipython().system = run
