"""What studies of many runs share beyond the public names: processes, files, words and progress.

The paper's examples, the calibration and the benchmarks are written as a user would write them.
What they need besides says nothing about evidence, and comes from here.
"""

from refti.executors.supervisor import Supervisor
from refti.executors.task import Outcome, Task
from refti.progress import Progress, print_lines
from refti.results.files import plain
from refti.results.text import plus_minus
from refti.studies.json_lines import append_record, read_records
from refti.studies.processes import run_in_processes
from refti.study.schema import json_schema as study_schema
from refti.tuning import tuned

__all__ = [
    "Outcome",
    "Progress",
    "Supervisor",
    "Task",
    "append_record",
    "plain",
    "plus_minus",
    "print_lines",
    "read_records",
    "run_in_processes",
    "study_schema",
    "tuned",
]
