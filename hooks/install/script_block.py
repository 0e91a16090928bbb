"""Owns our block in a git hook that may be somebody's script: put in and taken out, the rest byte for byte.

The block stands right behind the first line: a script that ends with `exit` or `exec` would never reach one
at its end, and the status of the last command, which `git checkout` ends with, stays the script's own.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from .errors import InstallError
from .program import NAME, command_line, hook_command

BEGIN = "# >>> foveal >>> managed by `foveal hooks install git`"
END = "# <<< foveal <<<"

SHELLS = frozenset({"sh", "bash", "dash", "ash", "ksh", "mksh", "zsh", "busybox"})
"""Shells that read the block as it is written."""

FIRST_LINE = "#!/bin/sh\n"


@dataclass(frozen=True, slots=True)
class ScriptBlock:
    """The block for one git hook. It never fails, is silent, and leaves the standard input to the others."""

    hook: str
    program: str

    def register(self, text: str) -> str:
        """Return the script with our block. Raises `InstallError` for one that isn't a shell's."""
        text = self.strip(text) or FIRST_LINE
        first, end, rest = text.partition("\n") if text.startswith("#!") else ("", "", text)
        _check_shell(first, self.hook)
        return f"{first}{end or (first and chr(10))}{self._block()}{rest}"

    def strip(self, text: str) -> str:
        """Return the script without our block; nothing is left of one that was made for it."""
        left = _BLOCK.sub("", text)
        return "" if left == FIRST_LINE and left != text else left

    def holds(self, text: str) -> bool:
        """Whether our block is there."""
        return bool(_BLOCK.search(text))

    def _block(self) -> str:
        command = command_line(hook_command(self.program, "git", self.hook))
        return f'{BEGIN}\n{command} "$@" </dev/null >/dev/null 2>&1 || :\n{END}\n'


def block_program(text: str) -> str | None:
    """Return the program that our block in a script runs."""
    import shlex

    match = _BLOCK.search(text)
    try:
        words = shlex.split(match.group().split("\n")[1], comments=False) if match else []
    except ValueError:
        return None
    return words[0] if len(words) > 2 and words[1] == "hook" and words[0].endswith(NAME) else None


_BLOCK = re.compile(
    rf"^{re.escape(BEGIN)}\n(?:(?!# [<>]{{3}} )[^\n]*\n){{0,20}}?{re.escape(END)}(?:\n|\Z)", re.MULTILINE
)


def _check_shell(first: str, hook: str) -> None:
    words = first[2:].split()
    if words and words[0].endswith("/env"):
        words = [word for word in words[1:] if not word.startswith("-")]
    if words and words[0].rpartition("/")[2] not in SHELLS:
        raise InstallError(
            f"{hook} is a script for {words[0]}, not for a shell",
            f"let it run this itself: {NAME} hook git {hook}",
        )
