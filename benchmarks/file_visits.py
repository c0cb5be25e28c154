"""The files of the package that `refti.evidence(model)` passes through, found by watching calls.

`python benchmarks/file_visits.py FOLDER` prints those under a folder, which is `src/refti` of the
code that is imported. Imports and the model's own file have no part in it.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MODEL = "log_gamma"


@dataclass(frozen=True)
class Visit:
    """A file that a run enters for the first time, and the file from which it was entered."""

    file: str
    entered_from: str | None


def visits(root: Path) -> list[Visit]:
    """The files under a folder that `refti.evidence` of a small model enters, in order."""
    import refti
    from refti import suite

    own = f"{os.path.abspath(root)}{os.sep}"
    skipped = (own + f"suite{os.sep}", own + "suite.py", own + "__init__.py")
    model = suite.find(MODEL).model()
    evidence = refti.evidence
    main = threading.get_ident()
    seen: dict[str, str | None] = {}
    file_of: dict[Any, str | None] = {}

    def place(code: Any) -> str | None:
        """The file of a function, if it is one of the package's: no import, no model."""
        if code not in file_of:
            name = os.path.abspath(code.co_filename)
            counts = name.startswith(own) and not name.startswith(skipped)
            counts &= code.co_name != "<module>"
            file_of[code] = name.removeprefix(own) if counts else None
        return file_of[code]

    def caller(frame: Any, file: str) -> str | None:
        """The nearest file of the package above a frame; above a thread, that of the main one."""
        while frame is not None:
            found = place(frame.f_code)
            if found is not None and found != file:
                return found
            frame = frame.f_back
        if threading.get_ident() != main:
            return caller(sys._current_frames().get(main), file)
        return None

    def watch(frame: Any, event: str, _: Any) -> None:
        if event == "call":
            file = place(frame.f_code)
            if file is not None and file not in seen:
                seen[file] = None  # before looking upwards, which may call functions itself
                seen[file] = caller(frame.f_back, file)

    threading.setprofile(watch)
    sys.setprofile(watch)
    try:
        evidence(model, progress=False)
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return [Visit(file, above) for file, above in seen.items()]


def returns(path: Sequence[Visit]) -> list[Visit]:
    """The visits before which a reader goes back: to a file that had handed on to others already.

    Files that one file opens one after another are no return as long as none of them opens a
    further one.
    """
    found, handed_on = [], []
    for visit in path:
        above = visit.entered_from
        if above in handed_on and above != handed_on[-1]:
            found.append(visit)
        handed_on.append(above)
    return found


def within(path: Sequence[Visit]) -> list[Visit]:
    """The visits to the folder in which the run begins, each from its nearest file there."""
    above = {visit.file: visit.entered_from for visit in path}
    home = str(Path(path[0].file).parent)

    def nearest(file: str | None) -> str | None:
        while file is not None and str(Path(file).parent) != home:
            file = above[file]
        return file

    inside = [visit for visit in path if str(Path(visit.file).parent) == home]
    return [Visit(visit.file, nearest(visit.entered_from)) for visit in inside]


if __name__ == "__main__":
    print(json.dumps([[visit.file, visit.entered_from] for visit in visits(Path(sys.argv[1]))]))
