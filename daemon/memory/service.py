"""What other rooms may call of `daemon/memory`."""

from __future__ import annotations

from .commit_marks import CommitMarks
from .edits import changed_fields
from .experience import draft_of
from .experiences import ExperienceMeaning, Experiences
from .file_sketches import FileSketches
from .lines import lines_from, read_line
from .pool import Pool
from .pool_filters import as_it_is, cursor_after
from .pools import Pools, join
from .recall import choose
from .visible_experiences import names_file, sees_whole, visible_experience, visible_experiences
