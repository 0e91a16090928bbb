"""Fixtures for the pool: a clock that advances by itself, drafts, and a pool in a folder."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from foveal.daemon.core.system import System
from foveal.daemon.memory.records import Draft, ExperienceListing
from foveal.daemon.memory.service import Pool
from msgspec.structs import replace


class Clock(System):
    """A clock that goes one second a look; `days` moves both of its kinds on."""

    def __init__(self) -> None:
        self.moment = datetime(2025, 1, 1, tzinfo=UTC)
        self.days = 0.0

    def now(self) -> datetime:
        self.moment += timedelta(seconds=1)
        return self.moment + timedelta(days=self.days)

    def monotonic(self) -> float:
        return super().monotonic() + self.days * 86_400


def draft(decision: str, agent: str = "planner", session: str = "s1", **more: Any) -> Draft:
    return replace(Draft(decision, agent, session), **more)


def path_in(folder: Path) -> str:
    return str(folder / "experiences.jsonl")


def open_pool(folder: Path, system: System | None = None, **more: Any) -> Pool:
    return Pool(path_in(folder), system or Clock(), **{"root": "/project", **more})


def decisions(pool: Pool, **filters: Any) -> list[str]:
    return [experience.decision for experience in pool.list(ExperienceListing(**filters))[0]]


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())
