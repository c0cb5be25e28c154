"""Where a Stan model comes from: the names and digests of its program and its data."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from refti.inputs.stan.data import Data
from refti.inputs.stan.program import Program


def origin_of(
    programs: Sequence[Program], data: Data, texts: Sequence[str], uniform_priors: str
) -> dict[str, Any]:
    """What a result keeps of the program and the data that it is of, as plain values.

    The digest of data in a file is that of the file; `values_sha256` is that of the values, however
    they are written.
    """
    values = _sha256(texts[0].encode())
    file = Path(data) if isinstance(data, str | Path) else None
    found = {
        "kind": "stan",
        "program": programs[0].name,
        "program_sha256": programs[0].sha256,
        "code_sha256": _sha256(programs[0].code.text.encode()),
        "data": None if file is None else file.name,
        "data_sha256": values if file is None else _sha256(file.read_bytes()),
        "values_sha256": values,
        "uniform_priors": uniform_priors,
    }
    if len(programs) > 1:
        found |= {"prior": programs[1].name, "prior_sha256": programs[1].sha256}
    return found


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
