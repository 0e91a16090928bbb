"""Vectors of length 1: normalization, and the form in which they are stored."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Ids = NDArray[np.uint64]
Floats = NDArray[np.float32]
Halves = NDArray[np.float16]


def unit_halves(vectors: ArrayLike, dim: int) -> Halves:
    """Return vectors (n, dim), or a single vector (dim,), as a matrix (n, dim) of rows of length 1, rounded
    to 16 bits: the form in which vectors are stored and compared.

    A vector read from storage is not normalized again, although rounding changed its length slightly (by
    2^-11 at most). So a vector has the same form whether it was just embedded or read from storage. Raises
    `ValueError` for another shape, and for a vector without a direction: a zero vector, or one that holds
    infinity or NaN.
    """
    matrix = np.atleast_2d(np.asarray(vectors, dtype=np.float32))
    if matrix.ndim != 2 or matrix.shape[1] != dim:
        raise ValueError(f"vectors of shape {np.shape(vectors)} where {dim} dimensions are expected")
    # Computed in 64 bits, so that the squares of large numbers don't overflow.
    lengths = np.sqrt(np.einsum("ij,ij->i", matrix, matrix, dtype=np.float64))
    if not (np.isfinite(lengths) & (lengths > 0)).all():
        raise ValueError("a vector that is zero, infinite or not a number has no direction")
    lengths[np.abs(lengths - 1) < 1e-3] = 1
    result: Halves = (matrix / lengths[:, None]).astype(np.float16)
    return result


def have_direction(matrix: Floats) -> NDArray[np.bool_]:
    """Return for each vector (n, dim) whether it has a direction, that is, isn't zero.

    A model may return a zero vector for a text; such a text can't be found.
    """
    found: NDArray[np.bool_] = np.linalg.norm(matrix, axis=1) > 0.5
    return found


def as_ids(ids: ArrayLike) -> Ids:
    """Return ids as a flat array of unsigned 64-bit numbers.

    The type is given explicitly because numpy makes an empty list an array of floats, and a float can't
    represent every integer above 2^53.
    """
    return np.asarray(ids, dtype=np.uint64).reshape(-1)
