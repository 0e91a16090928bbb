"""Prompt templates around a context: where they are found and which variables they may use.

Templates belong to the user or to a trusted project. They run in a sandbox that changes nothing and reads no
file, and their variables are text.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from importlib import resources
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from ..core.errors import FovealError
from ..core.system import Stamp, System, stamp_of
from ..project.records import ProjectMetadata

if TYPE_CHECKING:
    from jinja2 import Template
    from jinja2.sandbox import ImmutableSandboxedEnvironment

TEMPLATE_BYTES = 65_536
"""Maximum size of a template; the built-in ones have 500 bytes."""

COMPILED_MAX = 16
"""Maximum number of cached compiled templates: two for a project and for each type of task."""

PROMPT_CHARACTERS = 2_000_000
"""Maximum characters that a template adds to the context and the caller's prompt."""

KINDS = ("system", "user")


class BadTemplate(FovealError):
    """A template can't be read, parsed or run; the message names its file and line."""


class PromptValues(Struct, frozen=True):
    """The values for the variables of a template. `prompt` is the caller's, or ""."""

    project: ProjectMetadata
    context: str
    prompt: str = ""
    task_type: str = ""
    agent_name: str = ""


class Prompts(Struct, frozen=True):
    """The system prompt with the context, the user prompt, and the `problems` of broken templates."""

    system: str
    user: str
    problems: tuple[str, ...] = ()


class TemplateFolder(Struct, frozen=True):
    """A folder of templates. `allows` says whether a template may be used, by its name and content."""

    path: str
    allows: Callable[[str, bytes], bool] = lambda name, data: True


class PromptTemplates:
    """The templates in some folders: the first folder that has a template wins, the built-in ones come last.

    `system.TASK.j2` is for a type of task, `system.j2` for all others; the same with `user`. Blocks: use it
    in a thread.
    """

    def __init__(self, folders: Sequence[TemplateFolder], system: System) -> None:
        self._folders = tuple(folders)
        self._system = system

    def render(self, values: PromptValues) -> Prompts:
        """Render both prompts. Unusable templates are reported in `problems`, and the next one is used."""
        problems: list[str] = []
        system, user = (self._render(kind, values, problems) for kind in KINDS)
        return Prompts(system, user, tuple(problems))

    def key(self, task_type: str) -> tuple[tuple[str, Stamp], ...]:
        """Return the paths and stamps of the templates for a type of task, as part of a cache key."""
        found = []
        for folder, name in (place for kind in KINDS for place in self._places(kind, task_type)):
            path = os.path.join(folder.path, name)
            try:
                found.append((path, stamp_of(self._system.stat(path))))
            except OSError:
                continue  # usually there is no such template
        return tuple(found)

    def _render(self, kind: str, values: PromptValues, problems: list[str]) -> str:
        for folder, name in self._places(kind, values.task_type):
            try:
                text = self._read(folder, name)
                if text is not None:
                    return _run(os.path.join(folder.path, name), text, values)
            except BadTemplate as error:
                problems.append(f"{error}; the next one is used instead")
        return _run(f"{kind}.j2", _built_in(kind), values)

    def _places(self, kind: str, task_type: str) -> Iterator[tuple[TemplateFolder, str]]:
        # The type of task comes from a request and must not lead to a file elsewhere.
        special = task_type if task_type.replace("-", "").replace("_", "").isalnum() else ""
        for folder in self._folders:
            if special:
                yield folder, f"{kind}.{special}.j2"
            yield folder, f"{kind}.j2"

    def _read(self, folder: TemplateFolder, name: str) -> str | None:
        path = os.path.join(folder.path, name)
        try:
            data, _ = self._system.read(path, TEMPLATE_BYTES + 1)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise BadTemplate(f"the template {path} can't be read ({error.strerror or error})") from error
        if len(data) > TEMPLATE_BYTES:
            raise BadTemplate(f"the template {path} is larger than {TEMPLATE_BYTES:,} bytes")
        if not folder.allows(name, data):
            raise BadTemplate(f"the template {path} isn't trusted: look at it with `foveal trust`")
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError as error:
            raise BadTemplate(f"the template {path} is not UTF-8 (byte {error.start:,})") from error


def _run(path: str, text: str, values: PromptValues) -> str:
    """Render a template. Raises `BadTemplate` for any error in it."""
    # Imported here: it takes 76 ms, for two of the four formats only.
    from jinja2 import TemplateError, TemplateSyntaxError

    try:
        template = _compiled(text)
        parts: list[str] = []
        room = PROMPT_CHARACTERS + len(values.context) + len(values.prompt)
        for part in template.generate(**_variables(values)):
            parts.append(part)
            room -= len(part)
            if room < 0:
                raise BadTemplate(f"the template {path} adds more than {PROMPT_CHARACTERS:,} characters")
    except TemplateSyntaxError as error:
        raise BadTemplate(
            f"the template {path} can't be used: line {error.lineno}: {error.message}"
        ) from error
    # Expressions in a template may fail in any way: divide by zero, call what isn't a function.
    except (TemplateError, ArithmeticError, LookupError, TypeError, ValueError, RecursionError) as error:
        raise BadTemplate(f"the template {path} can't be used: {error}") from error
    return "".join(parts)


@lru_cache(maxsize=COMPILED_MAX)
def _compiled(text: str) -> Template:
    return _environment().from_string(text)


def _variables(values: PromptValues) -> Mapping[str, Any]:
    project = values.project
    return {
        "project": {
            "name": project.name,
            "description": project.description,
            "languages": [name for name, _ in project.languages],
            "commands": [{"purpose": command.purpose, "line": command.line} for command in project.commands],
            "branch": project.branch,
            "commits": [commit.line for commit in project.commits],
        },
        "context": values.context,
        "prompt": values.prompt,
        "task_type": values.task_type,
        "agent_name": values.agent_name,
    }


@cache
def _environment() -> ImmutableSandboxedEnvironment:
    from jinja2 import StrictUndefined
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    # No autoescape: the text is for a model, where `&lt;` in code would be wrong.
    return ImmutableSandboxedEnvironment(undefined=StrictUndefined, autoescape=False)


@cache
def _built_in(kind: str) -> str:
    return resources.files(__package__).joinpath("templates", f"{kind}.j2").read_text("utf-8")
