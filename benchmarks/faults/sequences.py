"""Random orders of requests, edits and kills, and the claim that what a daemon says meanwhile is true:
where it says that an index is whole, that is what a first indexing makes of the files."""

from __future__ import annotations

import random
import shutil
import sys
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
from foveal.daemon.project.roots import project_folder
from foveal.ipc.errors import INTERNAL, DaemonUnavailable, RpcError

from .home import DEADLINE_S, Home, wait_until
from .indexed import Image, differences, first_indexing, image_of
from .storming import WORDS, text_of

_START = """import sys
from foveal.__main__ import main
from foveal.daemon.core import child

child.BACKOFF_S = (0.05,)
sys.argv[1:] = ["up", "--foreground"]
main()
"""

IMPATIENT = (sys.executable, "-c", _START)
"""What starts a daemon that starts a killed process again at once each time, where it would wait for up to
10 s after some kills."""

STEPS = (4, 12)
"""How many steps a sequence has, at least and at most."""

FOLDERS = tuple(
    f"{top}{number}{below}" for top in "ab" for number in range(3) for below in ("", "/x", "/x/y", "/z")
)
"""So deep that a scan of them takes several steps, between which it can be cut."""

SIZES = (8, 60, 240)
"""Files of a project: above 64 other processes read too, above 200 they link."""

NAMES = ("m.py", "n.py", "o.ts", "p.md", "__init__.py")
EXCLUDED = "a1/"
PAUSE_S = 0.03
"""The mean time between two steps: that in which a small project is scanned, read and linked."""

Answer = dict[str, Any]


class Sequence:
    """One random sequence, on a project of its own below `user`; `told` is what was done, for people."""

    def __init__(self, user: Home, number: int) -> None:
        self.told: list[str] = []
        self._chance = random.Random(number)
        self._user = user
        self._base = user.folder / f"s{number}"
        self.root = self._base / "p"
        self._image: Image | None = None
        """What a first indexing makes of the files, as long as they rest."""
        self._known = False
        """Whether the daemon proved to know the files as they are now."""
        self._excludes = False
        self._last = ""
        """What was said of the project last at the end."""
        self._side = ThreadPoolExecutor(3)
        self._asked: list[Future[Answer]] = []
        for _ in range(self._chance.choice(SIZES)):
            self._write()

    def run(self) -> str:
        """Do all steps; return what was wrong and not said, or nothing."""
        try:
            for _ in range(self._chance.randint(*STEPS)):
                if wrong := self._step():
                    return f"{wrong} after {', '.join(self.told)}"
            wrong = self._end()
            return f"{wrong} at the end of {', '.join(self.told)}" if wrong else ""
        finally:
            self._side.shutdown()
            self._call("CloseProject", path=str(self.root))
            shutil.rmtree(self._base)

    def _step(self) -> str:
        steps: dict[Callable[[], str], int] = {
            self._open: 4,
            self._reindex: 4,
            self._close: 2,
            self._status: 4,
            self._query: 4,
            self._context: 3,
            self._aside: 4,
            self._edit: 6,
            self._configure: 1,
            self._kill_indexer: 3,
            self._kill_daemon: 1,
        }
        step = self._chance.choices(tuple(steps), tuple(steps.values()))[0]
        self.told.append(step.__name__.strip("_"))
        wrong = step()
        if not wrong and self._chance.random() < 0.6:
            time.sleep(self._chance.expovariate(1 / PAUSE_S))
        return wrong

    # What is asked

    def _open(self) -> str:
        return self._hold("OpenProject", path=str(self.root))

    def _reindex(self) -> str:
        full = self._chance.random() < 0.4
        self.told[-1] += " full" if full else ""
        return self._hold("ReindexProject", path=str(self.root), full=full)

    def _close(self) -> str:
        self._call("CloseProject", path=str(self.root))
        return ""

    def _status(self) -> str:
        """Ask for the project in both ways."""
        return self._hold("Status", cwd=str(self.root)) or self._hold("ListProjects")

    def _query(self) -> str:
        word = self._chance.choice(WORDS[:3])  # whose ends no language adds to a word
        fresh = self._chance.choice(("shown", "tree", "tree"))
        self.told[-1] += f" {fresh}"
        at_rest = self._is_at_rest()
        answer = self._call("Query", cwd=str(self.root), query=word, route="hybrid", fresh=fresh)
        if not at_rest or not answer or answer["degraded"] or not (self._known or fresh == "tree"):
            return ""
        has_word = any(each[0] == word for of in self._truth().values() for each in of[-1])
        if has_word != bool(answer["results"]):
            return f"{len(answer['results'])} files are said to have {word!r}: {answer}"
        return self._prove() if fresh == "tree" else ""

    def _context(self) -> str:
        at_rest = self._is_at_rest()
        answer = self._call("GetContext", cwd=str(self.root), focus_paths=["a0"], fresh="tree")
        if not at_rest or not answer or answer["degraded"] or answer["partial"]:
            return ""
        return self._prove()

    def _aside(self) -> str:
        """Ask on another connection without waiting for the answer, so that what follows overtakes it."""
        method, params = self._chance.choice(
            (
                ("OpenProject", {"path": str(self.root)}),
                ("ReindexProject", {"path": str(self.root)}),
                ("ReindexProject", {"path": str(self.root), "full": True}),
                ("Query", {"cwd": str(self.root), "query": "wordp", "fresh": "tree"}),
                ("GetContext", {"cwd": str(self.root), "prompt": "wordq", "fresh": "tree"}),
                ("CloseProject", {"path": str(self.root)}),
            )
        )
        self.told[-1] = f"({method})"
        self._asked.append(self._side.submit(self._call, method, **params))
        return ""

    # What is done

    def _edit(self) -> str:
        """Write, remove and move some files, and folders with all below them."""
        self._image, self._known = None, False
        for _ in range(self._chance.choice((1, 3, 30))):
            way = self._chance.random()
            folder = self.root / self._chance.choice(FOLDERS)
            with suppress(OSError):
                if way < 0.7:
                    self._write()
                elif way < 0.85:
                    (folder / self._chance.choice(NAMES)).unlink()
                elif way < 0.95:
                    folder.rename(self.root / self._chance.choice(FOLDERS))
                else:
                    shutil.rmtree(folder)
        return ""

    def _configure(self) -> str:
        """Change which files belong to the project, so that it is opened anew."""
        self._image, self._known, self._excludes = None, False, not self._excludes
        exclude = f'"{EXCLUDED}"' if self._excludes else ""
        (self.root / "foveal.toml").write_text(f"[scan]\nexclude = [{exclude}]\n")
        return ""

    def _kill_indexer(self) -> str:
        pid = self._call("Status").get("indexer_pid")
        with suppress(psutil.NoSuchProcess):
            if pid is not None:
                psutil.Process(pid).kill()
        return ""

    def _kill_daemon(self) -> str:
        self._user.kill()
        return ""

    # What must be true

    def _is_at_rest(self) -> bool:
        """Whether nothing is being done aside that changes what an answer was about by the time it comes."""
        return all(one.done() for one in self._asked)

    def _hold(self, method: str, **params: Any) -> str:
        """Ask for the project, and hold what is said of it against the files where it is said to be whole."""
        at_rest, answer = self._is_at_rest(), self._call(method, **params)
        projects = answer.get("projects", [answer])
        (project,) = [one for one in projects if one.get("root") == str(self.root)] or [{}]
        if not at_rest or not self._known or project.get("state") != "ready" or project["degraded"]:
            return ""
        truth = self._truth()
        figures = project["files"], project["symbols"], project["files_pending"], project["files_unlinked"]
        should = len(truth), sum(of[0][4] for of in truth.values()), 0, 0
        if figures != should:
            return f"it is said to be ready with {figures} files, definitions, unread, unlinked, not {should}"
        return self._compare()

    def _prove(self) -> str:
        """Compare the index after an answer that is said to hold every change."""
        self._known = True
        return self._compare()

    def _end(self) -> str:
        """Let all answers come, wait until the project is ready, and look at all of it."""
        for one in self._asked:
            one.result()
        if not wait_until(self._is_whole):
            return f"it isn't ready after {DEADLINE_S} s: {self._last}"
        self._known = True
        return self._status()

    def _is_whole(self) -> bool:
        project = self._call("OpenProject", path=str(self.root))
        answer = self._call("Query", cwd=str(self.root), query="wordp", fresh="tree")
        told = project.get("state"), project.get("degraded"), answer.get("degraded", "no answer")
        self._last = str(told)
        return told == ("ready", [], [])

    def _compare(self) -> str:
        """Compare the index on the disk with a first indexing."""
        folder = Path(project_folder(str(self._user.state), str(self.root)))
        return "; ".join(differences(image_of(folder, WORDS), self._truth())[:3])

    def _truth(self) -> Image:
        if self._image is None:
            exclude = (EXCLUDED,) if self._excludes else ()
            folder = self._base / "truth"
            self._image = first_indexing(self.root, folder, WORDS, exclude)
            shutil.rmtree(folder)
        return self._image

    def _write(self) -> None:
        path = self.root / self._chance.choice(FOLDERS) / self._chance.choice(NAMES)
        word, other = self._chance.choice(WORDS), self._chance.choice(WORDS)
        imported = f"{self._chance.choice(FOLDERS)}/{self._chance.choice(NAMES)}"
        with suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text_of(path.name, word, other, imported))

    def _call(self, method: str, **params: Any) -> Answer:
        """Ask; an error is an answer that claims nothing, as that the indexer or the daemon ended."""
        try:
            with self._user.client() as client:
                answer: Answer = client.call(method, params, DEADLINE_S)
        except RpcError as error:
            if error.code == INTERNAL:
                raise
            return {}
        except (DaemonUnavailable, OSError):
            return {}
        return answer
