"""Owns the text that is put before an agent when its session goes on; the same state gives the same bytes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct

from ..core.system import System
from .applet import Applet, applet_in
from .sessions import Session


class Resume(Struct, frozen=True):
    """What a resumed session begins with.

    `text` is empty where there is nothing to say. `context` holds all sets as they are, also files that are
    gone; `files` are those that exist, `missing_files` the others.
    """

    text: str
    context: Mapping[str, tuple[str, ...]]
    files: tuple[str, ...]
    missing_files: tuple[str, ...]
    applet: Applet | None


def resume_text(session: Session, exists: Callable[[str], bool]) -> Resume:
    """Return the text for a session: intent, environment, files that exist, applet, other sets.

    `exists` says whether there is something at an absolute path; see `exists_on`.
    """
    there = {path: exists(path) for path in session.context.get("files", ())}
    files = tuple(path for path in there if there[path])
    missing = tuple(path for path in there if not there[path])
    applet = applet_in(session.context.get("applet", ()))
    lines = [
        *_note("Intent", session.current_intent),
        *_note("Environment", session.env_hint),
        *_files_lines(files, len(missing)),
        *([_applet_line(applet)] if applet else ()),
        *(
            f"{name}: {', '.join(entries)}"
            for name, entries in session.context.items()
            if name not in _OWN_FORM
        ),
    ]
    text = "\n".join(["Context of this session, as it was left:", *lines]) if lines else ""
    return Resume(text, session.context, files, missing, applet)


def exists_on(system: System) -> Callable[[str], bool]:
    """Return a look at the disk, following symlinks; what can't be looked at counts as missing."""

    def exists(path: str) -> bool:
        try:
            system.stat(path)
        except (OSError, ValueError):
            return False
        return True

    return exists


_OWN_FORM = frozenset(("files", "applet"))


def _note(label: str, text: str) -> list[str]:
    if "\n" in text:
        return [f"{label}:", *(f"  {line}" for line in text.split("\n"))]
    return [f"{label}: {text}"] if text else []


def _files_lines(files: Sequence[str], missing: int) -> list[str]:
    lines = [f"- {path}" for path in files]
    if missing:
        lines.append(f"({missing} {'file' if missing == 1 else 'files'} not found)")
    return ["Relevant files:", *lines] if lines else []


def _applet_line(applet: Applet) -> str:
    parameters = ", ".join(f"{name}={value}" for name, value in applet.parameters.items())
    return f"Last applet: {applet.slug} ({parameters})" if parameters else f"Last applet: {applet.slug}"
