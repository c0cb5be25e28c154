"""Streams: no two parts of a run have the same randomness."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from refti.sampling.streams import GeneratorStream, KeyStream, generator_of, key_of


@pytest.mark.parametrize("streams", [KeyStream, GeneratorStream])
def test_no_two_parts_share_their_randomness(streams: type[KeyStream] | type[GeneratorStream]):
    # All that distinguishes parts, zeros above all: NumPy takes (1, 7) and (1, 7, 0) for the same.
    parts = [
        (stream, *identity)
        for stream in streams
        for identity in product((0, 1, 2, 7), repeat=len(stream.value[1]))
    ]
    assert len(parts) > 20
    for seed in (0, 1, 2**40 + 3):
        words = {
            np.random.SeedSequence((seed, stream.value[0], *identity)).generate_state(4).tobytes()
            for stream, *identity in parts
        }
        assert len(words) == len(parts)


def test_the_search_far_out_and_the_starts_about_peaks_differ():
    # They once had the same numbers: (seed, 7) and (seed, 7, 0) are one to NumPy.
    one, other = (
        generator_of(3, stream, 0).normal(size=8)
        for stream in (GeneratorStream.WANDERERS, GeneratorStream.AROUND_PEAKS)
    )
    assert not np.isin(one, other).any()


def test_numbers_of_streams_are_their_own():
    for streams in (KeyStream, GeneratorStream):
        numbers = [stream.value[0] for stream in streams]
        assert len(set(numbers)) == len(numbers)


def test_a_part_must_say_all_that_tells_it_apart():
    with pytest.raises(ValueError, match="SCAN needs"):
        key_of(0, KeyStream.SCAN, 1, 2)
    with pytest.raises(ValueError, match="EXCHANGE needs"):
        generator_of(0, GeneratorStream.EXCHANGE)
