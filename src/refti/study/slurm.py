"""The job array of a study for SLURM: one `refti worker` a job; they share a folder and no port."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

from refti.errors import SettingsError

SCRIPT = """\
#!/bin/bash
#SBATCH --job-name=refti
#SBATCH --array=1-{shards}
#SBATCH --cpus-per-task={cores}
#SBATCH --mem={memory}
#SBATCH --time={time}
#SBATCH --output={log}

# Submit with sbatch. Jobs may end, be killed, or be submitted again in any number at any time:
# finished models are not run again, and a model that is being run is left to its job.
# When all are done: refti compare {folder}
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 REFTI_CORES={cores}
exec {python} -m refti worker {folder} --shard "$SLURM_ARRAY_TASK_ID/{shards}"
"""


def job_array(
    store: Path, *, shards: int, cores: int = 1, memory: str = "4G", time: str = "12:00:00"
) -> str:
    """The text of a job array that works on a study's folder.

    Raises:
        SettingsError: a value would not be one word of the script.
    """
    folder = str(store.resolve())
    words = {"The folder": folder, "--memory": memory, "--time": time}
    for what, word in words.items():
        is_plain = word.isprintable() and '"' not in word and "\\" not in word
        if (
            not word
            or not is_plain
            or (what != "The folder" and not word.isascii())
            or (what != "The folder" and any(letter.isspace() for letter in word))
        ):
            raise SettingsError(f"{what} must be one plain word in a job script; got {word!r}.")
    return SCRIPT.format(
        shards=shards,
        cores=cores,
        memory=memory,
        time=time,
        folder=shlex.quote(folder),
        # SLURM itself puts numbers in for % in this line, and takes quotes.
        log=f'"{folder.replace("%", "%%")}/slurm-%A_%a.log"',
        python=shlex.quote(sys.executable),
    )
