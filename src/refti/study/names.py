"""Names of models: what they may be, and the folder and the random numbers that each one gets."""

from __future__ import annotations

import hashlib
import re

from refti.study.tuning import TUNING


def name_fault(name: str) -> str | None:
    """What is wrong with a model's name; None if nothing is."""
    expected = f"Expected 1 to {TUNING.longest_name} printable characters"
    shown = ascii(name if len(name) <= 40 else f"{name[:40]}…")
    if not name:
        return f"A model must have a name. {expected}; got an empty one."
    if len(name) > TUNING.longest_name:
        return f"The name {shown} is too long. {expected}; got {len(name)}."
    if not name.isprintable():
        return f"The name {shown} has characters that cannot be printed. {expected}."
    if name != name.strip():
        return f"The name {shown} begins or ends with a space. {expected}, with none at its ends."
    return None


def folder_name(name: str) -> str:
    """The folder of a model: letters of its name that are safe anywhere, and a hash of all of it.

    The name is never a path by itself: whatever stands in it, this is one plain component, and
    different names have different folders, also where capitals do not count.
    """
    slug = re.sub(r"[^A-Za-z0-9_.+-]+", "_", name).strip("._-")[: TUNING.slug_length]
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:10]
    return f"{slug}-{digest}" if slug else f"model-{digest}"


def seed_of(study_seed: int, name: str) -> int:
    """The seed of one model, from the study's and its name.

    Models of one study so have independent errors, which the errors of their Bayes factors count
    on, and adding or leaving out a model changes nothing for the others.
    """
    digest = hashlib.sha256(f"{study_seed}\0{name}".encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "big") >> 1  # below 2**63
