"""The cues of decisions and of headings: a table of regexes for each language, data in `languages`.

A cue is matched against the form of a sentence (see sentences.py), and is evidence, no verdict:
decision_score.py weighs it. A cue may be broken into lines. A language without a cue never meets it.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """Return a regex compiled at its first use; only for patterns of the code and its data."""
    return re.compile(pattern)


class Cues:
    """The cues of a language, by name."""

    def __init__(self, table: Mapping[str, str]) -> None:
        self.common = frozenset(table["common"].split())
        """Frequent words, by which the language is recognized; they may occur in several languages."""
        self.table = {name: cue.replace("\n", "") for name, cue in table.items()}

    def pattern(self, name: str) -> re.Pattern[str]:
        """Return the regex of a cue."""
        return compiled(self.table.get(name, r"(?!)"))

    def meets(self, name: str, form: str) -> bool:
        """Whether a form holds a cue."""
        return self.pattern(name).search(form) is not None


def cues_for(text: str) -> Cues:
    """Return the cues of the language with the most frequent words in a text, English by default."""
    found = re.findall(r"[\u3041-\u9fff]|[^\W\d_\u3041-\u9fff]+", text[:_BEGINNING].lower())
    return max(languages().values(), key=lambda cues: sum(word in cues.common for word in found))


@cache
def languages() -> Mapping[str, Cues]:
    """Return the cues of each language by its name, English first."""
    files = Path(__file__).with_name("languages").glob("*.toml")
    by_name = sorted(files, key=lambda file: (file.stem != "english", file.stem))
    return {file.stem: Cues(tomllib.loads(file.read_text("utf-8"))) for file in by_name}


_BEGINNING = 4_000
"""Characters by which the language of a text is recognized."""
