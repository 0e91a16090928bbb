"""The weights of the learned order of files, as `python -m benchmarks.order.fit` writes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

WEIGHTS: Final[Mapping[str, float]] = {
    "evidence": 0.6714,
    "evidence, of the best": 1.686,
    "evidence, place": -0.06932,
    "words": 0.3976,
    "words, second": 0.2275,
    "words, all": 0.0732,
    "chunks with words": -0.1924,
    "words, stretched": -0.08795,
    "words, place": 0.03877,
    "file has words": 0.736,
    "file has kinds of words": -0.3945,
    "chunk has words": 1.25,
    "fused": 0.042,
    "other chunks": 0.368,
    "chunks": -0.04062,
    "has meaning": -0.08669,
    "meaning": 0.8991,
    "meaning, second": -0.07334,
    "meaning, below the best": 1.614,
    "meaning, stretched": 0.3469,
    "chunks with meaning": -0.07951,
    "path": 1.074,
    "name": -0.7636,
    "name, beginnings": 0.51,
    "name is asked": -0.2052,
    "whole name is asked": 0.4548,
    "folders": 0.8356,
    "depth": 0.04568,
    "folder has others": 0.7396,
    "lines": -0.1281,
    "definitions": -0.02802,
    "named": 0.3438,
    "quoted": -3.143,
    "rare": 0,
    "commits": -0.07593,
    "changed for such words": 1.976,
    "changed for such words, most": 0.7686,
    "role test": -1.01,
    "role example": -0.4588,
    "role document": -1.35,
    "role data": -1.287,
    "role shim": -1.114,
    "role barrel": -0.521,
    "role stub": 0.9921,
    "no source": -1.467,
    "path, of the best file": 0.1991,
    "name, of the best file": 0.01521,
    "words, all, of the best file": 0.2779,
    "other chunks, of the best file": 0.1043,
    "file has words, of the best file": 0.6698,
    "has meaning, by coverage": 0.1532,
    "meaning, by coverage": 0.9949,
    "meaning, below the best, by coverage": 0.09928,
    "meaning, stretched, by coverage": 0.1937,
    "words, stretched, by coverage": -0.727,
}
"""Of a linear model over `file_order.FEATURES`, fitted to commits and questions of the `tune` code bases of
benchmarks/order."""

CALIBRATION: Final = (-2.8, 0.5343, 0.6005)
"""A constant, and what a file's score and its distance below the best count, for the odds that it answers."""
