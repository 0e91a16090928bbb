"""The baseline of aider's repository map, which runs in an environment of its own and needs no model."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from ..retrieval.baselines import BaselineMissing
from .projects import CodeBase

WORKER = Path(__file__).parent / "aider_worker.py"

VERSION = "0.86.2"
NAME = f"aider {VERSION}, repository map"


class Aider:
    """The map for each prompt and budget, with the files and identifiers that aider finds in the prompt.

    Kept in `folder` once made.
    """

    def __init__(self, python: Path, folder: Path) -> None:
        self._python = python
        self._folder = folder

    def texts(self, code: CodeBase, prompts: Sequence[str], budgets: Sequence[int]) -> list[dict[int, str]]:
        """Return for each prompt its text by budget. Raises `BaselineMissing`."""
        asked = [_request(text, budgets) for text in prompts]
        files = [self._file(code, request) for request in asked]
        missing = [place for place, file in enumerate(files) if not file.is_file()]
        answers = self._run(code, [asked[place] for place in missing])
        for place, maps in zip(missing, answers, strict=True):
            files[place].parent.mkdir(parents=True, exist_ok=True)
            temporary = files[place].with_suffix(".new")
            temporary.write_text(json.dumps(maps, ensure_ascii=False), encoding="utf-8")
            os.replace(temporary, files[place])
        return [
            {int(budget): text for budget, text in json.loads(file.read_text(encoding="utf-8")).items()}
            for file in files
        ]

    def _file(self, code: CodeBase, request: Mapping[str, object]) -> Path:
        key = json.dumps([VERSION, WORKER.read_text(encoding="utf-8"), sorted(code.paths), request])
        return self._folder / code.name / f"{hashlib.blake2b(key.encode(), digest_size=12).hexdigest()}.json"

    def _run(self, code: CodeBase, prompts: Sequence[Mapping[str, object]]) -> Iterator[dict[str, str]]:
        """Yield the maps of each prompt as they come, so that those that are made are kept."""
        if not prompts:
            return
        request = {
            "root": str(code.root.resolve()),
            "files": sorted(code.paths),
            "cache": str(self._folder / code.name / "tags"),
            "prompts": prompts,
        }
        (self._folder / code.name).mkdir(parents=True, exist_ok=True)
        environment = {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(self._folder)}
        errors = self._folder / "errors.txt"
        # Isolated, so that nothing of this folder is imported in place of its packages.
        command = [str(self._python), "-I", str(WORKER), VERSION]
        try:
            with (
                open(errors, "w", encoding="utf-8") as log,
                subprocess.Popen(
                    command,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=log,
                    encoding="utf-8",
                    env=environment,
                ) as process,
            ):
                assert process.stdin is not None
                assert process.stdout is not None
                # One that ended before it read this says why in `errors`.
                with suppress(BrokenPipeError), process.stdin as input_:
                    input_.write(json.dumps(request))
                for line in process.stdout:
                    yield json.loads(line)["maps"]
        except OSError as error:
            raise BaselineMissing(f"{NAME} can't run with {self._python}: {error}") from error
        if process.returncode:
            reason = " / ".join(errors.read_text(encoding="utf-8").strip().splitlines()[-3:])
            raise BaselineMissing(f"{NAME} can't run with {self._python}: {reason}")


def _request(text: str, budgets: Sequence[int]) -> dict[str, object]:
    return {"text": text, "chat": [], "budgets": list(budgets)}
