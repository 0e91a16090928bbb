"""Owns the scene of a statement: what happened around it that can make up for what its words don't say."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..core.lazy_dataclass import dataclass
from .touched_files import is_prose_file


@dataclass(slots=True)
class Scene:
    """What is known of the moment at which something was said; what comes next is added when it comes."""

    tried: bool = False
    """Source files had been edited in this turn before."""
    just_edited: bool = False
    """Source files were edited since the agent spoke before."""
    ran: bool = False
    """Something was run since the last edit, or had failed."""
    repairing: bool = False
    """A check failed on what had just been edited: a fault found now is one of the work itself."""
    complaint: bool = False
    """The user asked about a fault."""
    on_the_point: bool = False
    """It speaks of what the user asked about."""
    as_asked: bool = False
    """Hardly a word of it isn't the user's: the task as it was given."""
    edited_next: bool = False
    """Source files were edited before the agent spoke again."""
    taken_back_next: bool = False
    """Git took files back before the agent spoke again."""
    reported: bool = False
    """It was said when the work was done."""

    def for_choice(self, *, describes: bool) -> int:
        """Return how much speaks for a choice: nothing where no source was edited next to it."""
        if self.reported:
            return int(self.tried and not self.as_asked)
        if describes:  # what was just made, or else what was found
            return 2 * int(self.just_edited)
        return int(self.edited_next) + int(self.just_edited)

    def for_cause(self) -> int:
        """Return how much speaks for the cause of a fault: nothing where it led to no edit."""
        if self.repairing or not (self.tried if self.reported else self.edited_next):
            return 0
        if not self.complaint and not (self.tried and self.ran):
            return 0  # nothing is known to be wrong
        first = self.complaint and not self.tried  # what is said before the first edit explains it
        return 1 + int(self.complaint) + int(self.complaint and self.on_the_point) + int(first)

    def for_attempt(self) -> int:
        """Return how much speaks for something tried and given up: nothing where nothing was tried."""
        if not self.tried or not (self.edited_next or self.taken_back_next or self.reported):
            return 0
        return 1 + int(self.taken_back_next) + int(self.ran)


def is_source(paths: Sequence[str]) -> bool:
    """Whether any of some edited files holds neither tests nor prose; so it is where no path is known."""
    return not paths or any(not is_prose_file(path) and not re.search(_TESTS, path) for path in paths)


_TESTS = (
    r"(?i)(?:^|[/\\])(?:tests?|specs?|__tests__|__snapshots__|fixtures?|testdata|mocks?|e2e|golden)[/\\]"
    r"|(?:^|[/\\])(?:test_|conftest)[^/\\]*$|[._-](?:tests?|spec|snap|golden|stories)\.[^/\\]*$"
    r"|(?:Test|Tests|Spec|IT)\.(?:java|kt|swift|scala|cs|php)$|(?:lock|\.lock|lock\.json|lock\.yaml|\.sum)$"
)
