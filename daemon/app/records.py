"""The values of `daemon/app` that other rooms may hold."""

from __future__ import annotations

from .server import UNABLE_TO_START
from .state_check import Finding
