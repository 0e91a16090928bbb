"""What other rooms may call of `daemon/project`."""

from __future__ import annotations

from . import commits, git
from .content import ContentReader, count_lines, decode, digest_of, is_current, split_lines
from .diff import read_diff
from .family import identity_of, marks_of, worktree_at, worktree_of, worktrees
from .git import head
from .ignore import set_excluded
from .lister import left_out
from .metadata import KnownMetadata, metadata_key, read_metadata
from .roots import (
    check_named_root,
    find_root,
    is_temporary,
    known_projects,
    known_roots,
    make_usable,
    project_folder,
    relative_path,
    removed_work_trees,
    resolved,
    roots_linked,
    write_record,
)
from .scan import Scanner
from .text_kind import classify_content, is_built, kind_of_text, role_of
from .tree import Layout, Tree, best_suffix, by_stem, files_named, has_module, split_node_id
from .watcher import Watcher
