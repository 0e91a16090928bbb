"""The command `foveal trust`: lets files of a project take effect."""

from __future__ import annotations

import os

import click

from . import terminal
from .command import Reply, Run, command
from .options import CWD, flag
from .text import clean, count, short_path

EFFECTS = {
    "foveal.toml": "may name a file in the project that decisions are shared in",
    ".j2": "makes the prompts that are sent with a context",
}


SHOWN_CHARACTERS = 4_000


@command(
    "Let a project's files take effect.",
    flag("--yes -y", "Trust the files as they are without asking."),
    flag("--revoke", "Trust nothing of this project any more."),
    CWD,
)
def trust_command(run: Run) -> None:
    """Show which files of this project need trust to take effect, and trust them as they are now.

    A cloned repository can only narrow what foveal does. Its templates and its pool of decisions take
    effect after you trusted these files. When a file changes you have to trust it again.

    For example:

        foveal trust                 # shows what would take effect, and asks
        foveal trust --revoke
    """
    if run.yes and run.revoke:
        raise run.usage("--yes and --revoke don't go together")
    if run.revoke:
        reply = run.ask("RevokeTrust", cwd=run.folder)
        run.show(reply, [f"nothing of {short_path(reply['root'])} is trusted any more"])
        return
    found = run.ask("GetTrust", cwd=run.folder)
    waiting = [file for file in found["files"] if not file["trusted"] and "problem" not in file]
    if run.as_json and not run.yes:
        terminal.say_json(found)
        return
    terminal.check_can_ask(asks=bool(waiting) and not run.yes)
    if not run.as_json:
        _show_files(found)
    if not waiting:
        run.show({"root": found["root"], "trusted": []})
        return
    if not run.yes and not _agrees(found["root"], waiting):
        terminal.note("nothing is trusted")
        run.fail()
    wanted = [{"path": file["path"], "digest": file["digest"]} for file in waiting]
    reply = run.ask("Trust", cwd=run.folder, files=wanted)
    run.show(reply, [f"trusted: {', '.join(map(clean, reply['trusted']))}"])


def _show_files(found: Reply) -> None:
    if not found["files"]:
        terminal.say(f"{short_path(found['root'])} has no files that need trust")
    for file in found["files"]:
        state = file.get("problem") or ("trusted" if file["trusted"] else "not trusted")
        effect = next(words for ending, words in EFFECTS.items() if file["path"].endswith(ending))
        terminal.say(f"{clean(file['path'])}: {clean(state)}; it {effect}")


def _agrees(root: str, files: list[Reply]) -> bool:
    """Show the content of the files and ask."""
    for file in files:
        path = os.path.join(root, file["path"])
        with open(path, encoding="utf-8", errors="replace") as opened:
            text = opened.read(SHOWN_CHARACTERS + 1)
        terminal.say(f"\n{clean(file['path'])}:")
        for line in text[:SHOWN_CHARACTERS].split("\n"):
            terminal.say(f"  {clean(line)}")
        if len(text) > SHOWN_CHARACTERS:
            terminal.say(f"  … more: read {clean(path)}")
    return click.confirm(f"Trust {count(len(files), 'file')} as shown?", default=False)
