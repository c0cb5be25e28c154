"""The JSON Schema of study.toml: docs/study.schema.json, made from the code.

`python -m benchmarks.study_schema` writes it anew; a test fails while it is out of date.
"""

from __future__ import annotations

import json
from pathlib import Path

from refti.studies import study_schema

PAGE = Path(__file__).parents[1] / "docs" / "study.schema.json"


def text() -> str:
    """The schema as the file has it."""
    return json.dumps(study_schema(), indent=2) + "\n"


if __name__ == "__main__":
    PAGE.write_text(text(), encoding="utf-8")
