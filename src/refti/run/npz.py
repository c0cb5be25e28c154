"""Arrays by name as bytes of an .npz, and back from bytes that nobody vouches for."""

from __future__ import annotations

import io
import math
import zipfile
from collections.abc import Mapping

import numpy as np
from numpy.lib import format as npy

HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}


def pack_arrays(arrays: Mapping[str, np.ndarray]) -> bytes:
    """The arrays as an .npz; the same arrays give the same bytes."""
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **arrays)
    return buffer.getvalue()


def unpack_arrays(content: bytes) -> dict[str, np.ndarray]:
    """The arrays of an .npz.

    Raises ValueError if it is none, holds Python objects, or claims to hold more than its bytes:
    such a file could fill the memory.
    """
    arrays = {}
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as file:
            for member in file.infolist():
                if member.compress_type != zipfile.ZIP_STORED or member.file_size > len(content):
                    raise ValueError(f"{member.filename!r} is compressed or larger than its file")
                arrays[member.filename.removesuffix(".npy")] = _array(file.read(member))
    except zipfile.BadZipFile as error:
        raise ValueError(str(error)) from error
    return arrays


def _array(content: bytes) -> np.ndarray:
    stream = io.BytesIO(content)
    version = npy.read_magic(stream)
    if version not in HEADERS:
        raise ValueError(f"there is no version {version} of an array's header here")
    shape, _, dtype = HEADERS[version](stream)
    size = math.prod(shape) * dtype.itemsize
    if dtype.hasobject or min(shape, default=0) < 0 or size != len(content) - stream.tell():
        raise ValueError(f"an array of {dtype} of shape {shape} is not what its file can hold")
    stream.seek(0)
    return npy.read_array(stream, allow_pickle=False)
