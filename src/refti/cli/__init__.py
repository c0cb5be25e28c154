"""The command line: one verb a job, a thin skin over the public names."""

from refti.cli.main import main

__all__ = ["main"]
