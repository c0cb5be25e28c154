"""Answer first: what every study prints, its answer in words and then the table it rests on."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence


def answer_first(answer: str, table: Sequence[str]) -> str:
    """The answer and then the lines of its table, for a terminal of 80 letters."""
    return "\n".join([*textwrap.wrap(answer, WIDTH), "", *table])


WIDTH = 80
