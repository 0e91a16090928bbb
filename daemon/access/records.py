"""The values of `daemon/access` that other rooms may hold."""

from __future__ import annotations

from .dashboard import CODE_S, LOOPBACK, Admission
from .permissions import Agent, AgentView
