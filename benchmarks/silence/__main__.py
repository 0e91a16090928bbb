"""Entry point: python -m benchmarks.silence prints which labelled prompts a hook leaves without a context."""

from __future__ import annotations

import argparse
import subprocess
import tempfile
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from foveal.ipc.client import Client

from ..host_session import HostSession, over_socket
from ..own_daemon import environment, open_project, running

DATA = Path(__file__).parent / "data"

ANY = "any"
"""The folder of prompts that are about no project."""

APART = "/judge"
"""The end of the names of sets that are kept apart from every fit."""

COMMITS = {
    "httpx": "ae1b9f66238f",
    "flask": "2ac89889f4cc",
    "gin": "dcaa4296d111",
    "express": "a3714473feb3",
    "sidekiq": "1bb4aa06e5aa",
    "fzf": "956562daaa82",
    "gson": "9835b6f90192",
    "jq": "579e6f76cffd",
    "requests": "1f6589ec3a1e",
    "ripgrep": "3fce3b5bb023",
}
"""The projects with prompts, by the names of their repositories, and the commits that are asked about."""

CHARACTERS_PER_TOKEN = 4


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt of one kind; `silent` if nothing in the project could answer it."""

    kind: str
    text: str
    silent: bool


@dataclass(frozen=True, slots=True)
class Answered:
    """A prompt, and the text that its hook brought for the model."""

    prompt: Prompt
    text: str

    @property
    def is_wrong(self) -> bool:
        """Whether it got a context and needs none, or needs one and got none."""
        return self.prompt.silent == bool(self.text)


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.silence", description=__doc__)
    parser.add_argument("repository", type=Path, help="a git repository of a project, by its name")
    parser.add_argument("--prompts", help="a file of data for it, default: all")
    parser.add_argument("--misses", action="store_true", help="print each prompt that is wrong")
    options = parser.parse_args()
    project = options.repository.name.removesuffix(".git")
    paths = sorted((DATA / project).glob(options.prompts or "*.toml"))
    with tempfile.TemporaryDirectory(prefix="fv-") as temporary:
        root = checked_out(options.repository, COMMITS[project], Path(temporary) / project)
        with running(environment(Path(temporary))) as client:
            open_project(client, root, embedded=True)
            for path in paths:
                name = f"{project}/{path.name}"
                answers = [
                    answered(client, root, prompt, f"{path.stem}-{number}")
                    for number, prompt in enumerate(prompts(path))
                ]
                _print(name, answers, misses=options.misses)


def prompts(path: Path) -> Iterator[Prompt]:
    """Yield the prompts of a file of data."""
    kinds: Mapping[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    for kind, labelled in kinds.items():
        for label, texts in labelled.items():
            yield from (Prompt(kind, text, label == "silent") for text in texts)


def checked_out(repository: Path, commit: str, root: Path) -> Path:
    """Make a work tree of a commit."""
    subprocess.run(["git", "clone", "--quiet", repository, root], check=True)
    subprocess.run(["git", "-C", root, "checkout", "--quiet", commit], check=True)
    return root


def answered(client: Client, root: Path, prompt: Prompt, session_id: str) -> Answered:
    """Start a session and send a prompt as Claude Code's hooks do."""
    session = HostSession(over_socket(client), root, session_id)
    session.start()
    return Answered(prompt, session.prompt(prompt.text))


def _print(name: str, answers: Sequence[Answered], *, misses: bool) -> None:
    silent = [answer for answer in answers if not answer.text]
    right = sum(one.prompt.silent for one in silent)
    wanted = sum(one.prompt.silent for one in answers)
    print(
        f"{name}: {len(answers)} prompts, {wanted} of them need nothing; {len(silent)} got nothing,"
        f" precision {right / max(len(silent), 1):.3f}, recall {right / max(wanted, 1):.3f}"
    )
    sizes = sorted(len(one.text) // CHARACTERS_PER_TOKEN for one in answers if one.text)
    if sizes:
        print(f"  tokens of the others: median {median(sizes):.0f}, {sizes[0]} to {sizes[-1]}")
    for kind in dict.fromkeys(one.prompt.kind for one in answers):
        of_kind = [one for one in answers if one.prompt.kind == kind]
        print(f"  {kind:<12} {sum(one.is_wrong for one in of_kind):3} of {len(of_kind):3} wrong")
    for one in answers if misses else ():
        if one.is_wrong:
            print(f"  {'not silent' if one.text else 'silent'}: {one.prompt.kind}: {one.prompt.text!r}")


if __name__ == "__main__":
    main()
