"""What an agent may see of experiences under its policy: none that names a hidden path, no secret."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable

from msgspec.structs import replace

from ..privacy.policy import Policy
from .experience import Experience

STEM_CHARACTERS = 4
"""Minimum characters of a file's name without its ending for it to name the file: shorter ones are words."""

_NAME = re.compile(r"[\w-]+")


def visible_experience(policy: Policy, experience: Experience, root: str) -> Experience | None:
    """Return an experience as an agent may see it, None if it is about hidden files only or names one."""
    files = tuple(path for path in experience.files_touched if not policy.denies(path))
    hidden = set(experience.files_touched).difference(files)
    texts = (experience.decision, experience.rationale, experience.error)
    if hidden and not files:
        return None
    if any(policy.names_denied(text, root) or names_file(text, hidden) for text in texts):
        return None
    decision, rationale, error = map(policy.mask, texts)
    sketches = tuple(sketch for sketch in experience.sketches if sketch[0] in files)
    return replace(
        experience,
        decision=decision,
        rationale=rationale,
        error=error,
        files_touched=files,
        sketches=sketches,
    )


def sees_whole(policy: Policy, experience: Experience, root: str) -> bool:
    """Whether an agent may see all of an experience: no part of it is hidden."""
    visible = visible_experience(policy, experience, root)
    return visible is not None and visible.files_touched == experience.files_touched


def names_file(text: str, paths: Collection[str]) -> bool:
    """Whether a text names one of some files without its folder: by its name, or by the stem of one as a
    word."""
    if not paths:
        return False
    names = {os.path.basename(path).casefold() for path in paths}
    stems = {stem for name in names if len(stem := name.partition(".")[0]) >= STEM_CHARACTERS}
    folded = text.casefold()
    return any(name in folded for name in names) or not stems.isdisjoint(_NAME.findall(folded))


def visible_experiences(
    policy: Policy, experiences: Iterable[Experience], root: str
) -> tuple[Experience, ...]:
    """Return experiences as an agent may see them, in their order."""
    found = (visible_experience(policy, experience, root) for experience in experiences)
    return tuple(experience for experience in found if experience is not None)
