"""The process in aider's environment. It imports nothing of this package; requests and answers are JSON.

$ PYTHON -I aider_worker.py 0.86.2 < request

A request has `root`, `files` (relative to it), `cache` (a folder) and `prompts`, each with `text`, `chat`
(files that are in the chat) and `budgets` (tokens). For each prompt a line is written: its maps by budget.
"""

from __future__ import annotations

import io
import json
import os
import sys
import time
from contextlib import redirect_stdout
from importlib.metadata import version
from pathlib import Path
from typing import Any

CHARACTERS_PER_TOKEN = 4

OVER = 2.0
"""What is above the budget is said to be so many times more: aider takes a map that is 15 % above."""


def main() -> int:
    """Answer the request; refuse another version of aider."""
    (wanted,) = sys.argv[1:]
    found = version("aider-chat")
    if found != wanted:
        raise SystemExit(f"aider-chat {found} is installed, not {wanted}")
    request = json.load(sys.stdin)
    out = sys.stdout
    with redirect_stdout(io.StringIO()):  # what aider prints on the way
        maps = _maps_class()(request)
        for prompt in request["prompts"]:
            started = time.perf_counter()
            answer = {"maps": maps.of(prompt), "seconds": time.perf_counter() - started}
            out.write(json.dumps(answer) + "\n")
            out.flush()
    return 0


def _maps_class() -> Any:
    # Imported when the version has been seen to be right.
    from aider.coders.base_coder import Coder  # type: ignore[import-not-found]  # only in its own environment
    from aider.io import InputOutput  # type: ignore[import-not-found]  # only in its own environment
    from aider.repomap import RepoMap  # type: ignore[import-not-found]  # only in its own environment

    class Estimate:
        """Stands for the model, of which the map wants the tokens of a text only."""

        def token_count(self, text: str) -> int:
            return -(-len(text) // CHARACTERS_PER_TOKEN)

    class ExactMap(RepoMap):  # type: ignore[misc]  # unknown here
        """The map as it is, but that it never exceeds its budget, and ranks once for all budgets."""

        ranked: Any = None

        def token_count(self, text: str) -> float:
            count = self.main_model.token_count(text)  # of all of it: aider estimates by each hundredth line
            return float(count if count <= self.max_map_tokens else OVER * count)

        def get_ranked_tags(self, *arguments: Any, **named: Any) -> Any:
            if self.ranked is None:
                self.ranked = super().get_ranked_tags(*arguments, **named)
            return self.ranked

    class Mentions(Coder):  # type: ignore[misc]  # unknown here
        """Aider's own reading of a prompt, without the rest of its chat."""

        def __init__(self, root: str, files: list[str], chat: list[str]) -> None:
            self.root = root
            self.abs_fnames = {os.path.join(root, path) for path in chat}
            self.abs_read_only_fnames: set[str] = set()
            self._files = files

        def get_all_relative_files(self) -> list[str]:
            return self._files

        def get_inchat_relative_files(self) -> list[str]:
            return sorted(os.path.relpath(path, self.root) for path in self.abs_fnames)

        def get_addable_relative_files(self) -> set[str]:
            return set(self._files) - set(self.get_inchat_relative_files())

        def get_rel_fname(self, path: str) -> str:
            return os.path.relpath(path, self.root)

    class Maps:
        """The maps of one project."""

        def __init__(self, request: dict[str, Any]) -> None:
            self._root = request["root"]
            self._files = request["files"]
            RepoMap.TAGS_CACHE_DIR = str(Path(request["cache"]).absolute())  # not in the project
            self._map = ExactMap(
                map_tokens=1,
                root=self._root,
                main_model=Estimate(),
                io=InputOutput(yes=True, pretty=False, fancy_input=False),
                refresh="always",
            )

        def of(self, prompt: dict[str, Any]) -> dict[str, str]:
            """Return the map for each budget, as aider's `Coder.get_repo_map` asks for it."""
            chat = {os.path.join(self._root, path) for path in prompt["chat"]}
            others = {os.path.join(self._root, path) for path in self._files} - chat
            reader = Mentions(self._root, self._files, prompt["chat"])
            idents = reader.get_ident_mentions(prompt["text"])
            names = reader.get_file_mentions(prompt["text"])
            names.update(reader.get_ident_filename_matches(idents))
            self._map.ranked = None
            maps = {}
            for budget in prompt["budgets"]:
                self._map.max_map_tokens = budget
                maps[str(budget)] = self._map.get_repo_map(chat, others, names, idents) or ""
            return maps

    return Maps


if __name__ == "__main__":
    sys.exit(main())
