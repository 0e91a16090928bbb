"""The weights of the learned order of files, as `python -m benchmarks.order.fit` writes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

WEIGHTS: Final[Mapping[str, float]] = {
    "evidence": 0.6762,
    "evidence, of the best": 1.563,
    "evidence, place": 0.01806,
    "words": 0.3278,
    "words, second": 0.3087,
    "words, all": 0.1248,
    "chunks with words": -0.1351,
    "words, stretched": 0.009435,
    "words, place": 0.02073,
    "file has words": 0.6649,
    "file has kinds of words": -0.1165,
    "chunk has words": 1.29,
    "fused": 0.08888,
    "other chunks": 0.3936,
    "chunks": -0.1134,
    "has meaning": -0.06741,
    "meaning": 0.8199,
    "meaning, second": 0.03681,
    "meaning, below the best": 1.638,
    "meaning, stretched": 0.2547,
    "chunks with meaning": -0.1063,
    "path": 1.263,
    "name": -0.3716,
    "name, beginnings": 0.6069,
    "name is asked": -0.1015,
    "whole name is asked": 0.4403,
    "folders": 0.9839,
    "depth": 0.02312,
    "folder has others": 0.9632,
    "lines": -0.1106,
    "definitions": -0.03383,
    "defined": 0.6625,
    "named": 14.39,
    "quoted": -3.115,
    "rare": 0,
    "commits": 0.05565,
    "role test": -0.9139,
    "role example": -0.5035,
    "role document": -1.332,
    "role data": -1.221,
    "role shim": -0.8638,
    "role barrel": -1.079,
    "role stub": 0.6975,
    "no source": -1.328,
    "path, of the best file": 0.2082,
    "name, of the best file": -0.09208,
    "words, all, of the best file": 0.3688,
    "other chunks, of the best file": 0.1639,
    "file has words, of the best file": 0.5201,
    "has meaning, by coverage": 0.1539,
    "meaning, by coverage": 0.7396,
    "meaning, below the best, by coverage": -0.0901,
    "meaning, stretched, by coverage": 0.184,
    "words, stretched, by coverage": -0.3992,
}
"""Weights of the linear model, by feature (`file_order.FEATURES`), fitted to commits and questions about the
`tune` code bases of benchmarks/order."""

CALIBRATION: Final = (-3.154, 0.6057, 0.5019)
"""Constant of the logistic function for the probability that a file answers the question, and the weights of
its score and of its distance to the best score."""
