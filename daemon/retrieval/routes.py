"""Owns the names of the routes that a question can take."""

from __future__ import annotations

from typing import Literal

Route = Literal["structural", "positional", "semantic", "hybrid"]
"""`structural` asks for an edge of the code graph, `positional` restricts the search to a definite place,
`semantic` asks in words for behaviour, reasons or concepts; `hybrid` is all the rest, and mixtures."""
