"""The values of `daemon/transcripts` that other rooms may hold."""

from __future__ import annotations

from .activity import Activity
