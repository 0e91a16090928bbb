"""Records a tour of the command line as an animated picture: python -m docs.recording PROJECT [FILE].

Runs the commands below with a daemon of its own on a project, and shows their real output, one after the
other. The picture is an SVG without scripts.
"""

from __future__ import annotations

import argparse
import io
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.text import Text

WIDTH, LINES = 96, 26
"""Columns and rows of the recorded terminal."""

SHOWN_S = 6.0
"""Seconds for which the output of a command is shown."""

PAGE = Path(__file__).parent / "pictures" / "tour.svg"


class Step(NamedTuple):
    """A command as the picture shows it, and the arguments to run it with."""

    shown: str
    arguments: Sequence[str]


STEPS = (
    Step("foveal init", ("init", "--yes", "--no-hosts", "--question", "how are redirects followed?")),
    Step(
        'foveal context "how are redirects followed?" --max-tokens 1200',
        ("context", "how are redirects followed?", "--max-tokens", "1200"),
    ),
    Step("foveal last", ("last",)),
    Step("foveal why last httpx/_client.py", ("why", "last", "httpx/_client.py")),
    Step(
        'foveal query "what calls _build_redirect_request"',
        ("query", "what calls _build_redirect_request"),
    ),
    Step("foveal usage", ("usage",)),
)


def main() -> int:
    """Record, and write the picture."""
    parser = argparse.ArgumentParser(prog="python -m docs.recording", description=__doc__)
    parser.add_argument("project", type=Path, help="a checkout of httpx")
    parser.add_argument("file", type=Path, nargs="?", default=PAGE)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="fv-") as home:
        frames = [
            frame(number, step.shown, run(step.arguments, options.project.absolute(), home))
            for number, step in enumerate(STEPS)
        ]
        run(("down",), options.project, home)
    options.file.write_text(picture(frames), encoding="utf-8")
    sys.stdout.write(f"{options.file}: {options.file.stat().st_size:,} bytes\n")
    return 0


def run(arguments: Sequence[str], project: Path, home: str) -> str:
    """Return what a command prints on a terminal with colours."""
    environ = {"HOME": home, "XDG_RUNTIME_DIR": home, "PATH": os.environ["PATH"]}
    environ |= {"FORCE_COLOR": "1", "COLUMNS": str(WIDTH), "TERM": "xterm-256color"}
    command = [sys.executable, "-m", "foveal", *arguments]
    done = subprocess.run(  # noqa: S603 - the commands stand above
        command, cwd=project, env=environ, capture_output=True, text=True, check=True
    )
    return done.stdout.replace(str(project), f"~/src/{project.name}")


def frame(number: int, command: str, output: str) -> str:
    """Return the drawing of one command and the beginning of its output."""
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True)
    lines = Text.from_ansi(output).wrap(console, WIDTH)
    console.print(Text.assemble(("$ ", "dim"), (command, "bold")))
    for line in lines[:LINES]:
        console.print(line)
    for _ in range(LINES - len(lines)):
        console.print()
    drawn = console.export_svg(title="foveal", unique_id=f"f{number}")
    # Fonts from another host are left out; the reader's own monospaced one is used.
    return re.sub(r"@font-face \{.*?\}\s*", "", drawn, flags=re.DOTALL)


def picture(frames: Sequence[str]) -> str:
    """Return one picture that shows the frames in turn, for ever."""
    size = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', frames[0])
    assert size is not None, "rich writes a picture's size"
    share, whole = 100 / len(frames), SHOWN_S * len(frames)
    style = (
        f"@keyframes turn {{ 0%, {share:.3f}% {{ visibility: visible }} "
        f"{share + 0.001:.3f}%, 100% {{ visibility: hidden }} }}"
        f" .turn {{ visibility: hidden; animation: turn {whole:g}s step-end infinite }}"
    )
    shown = "".join(
        f'<g class="turn" style="animation-delay: {number * SHOWN_S:g}s">{drawn}</g>'
        for number, drawn in enumerate(frames)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size[1]} {size[2]}">'
        f"<title>foveal on the command line</title><style>{style}</style>{shown}</svg>\n"
    )


if __name__ == "__main__":
    sys.exit(main())
