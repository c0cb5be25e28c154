"""Seeds of models that are run together: a stream of random numbers for each, by its name."""

from __future__ import annotations

import hashlib


def seed_of_model(seed: int, name: str) -> int:
    """The seed of the model of this name among those that are run under one seed.

    Runs under one seed share their random numbers, so their errors are not independent, which is
    what a Bayes factor's error takes them for. It depends on nothing but the seed and the name, so
    another model more or less changes nothing.
    """
    digest = hashlib.sha256(f"{seed}\0{name}".encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "big") >> 1  # below 2**63
