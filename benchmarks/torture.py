"""Real repositories, each put through a whole life with the daemon: python -m benchmarks.torture.

    $ python -m benchmarks.torture --folder MIRRORS --json-file torture.json --resume
    $ python -m benchmarks.torture --only pallets/flask --only redis/redis --seconds 60
    $ python -m benchmarks.torture --together 8

`REPOSITORIES` names them with the commit that is checked out. Each is opened by a daemon of its own (with
`--together N`, N of them by one), indexed, linked and embedded for a given time, asked ten questions, edited,
and switched to an older commit and back. Meanwhile Status is compared with what git and the disk say, and the
memory of all processes is sampled. The exit status is 1 if a repository failed in any of it.

`--folder` holds bare clones as OWNER+NAME/repo; what isn't there is fetched from GitHub.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import os
import random
import re
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Self

import psutil
from foveal.daemon.core.system import System
from foveal.daemon.languages.shared.parse import parse_source
from foveal.daemon.project.lister import left_out
from foveal.daemon.project.roots import project_folder
from foveal.daemon.project.rules import ScanSettings
from foveal.ipc.client import Client, ensure_daemon
from foveal.ipc.errors import RpcError

from .machine import look
from .own_daemon import environment

SEED = 18
MEMORY_MB = 1_500.0
"""Most memory of all processes of a daemon together, what they share counted once."""

STUCK_S = 120.0
"""Seconds without any progress in Status after which a project counts as stuck."""

CALL_S = 60.0
"""Seconds to wait for one reply."""

ANSWER_S = 10.0
"""Seconds above which an answer to a question is too slow; hosts give up by then."""

VISIBLE_S = 30.0
"""Seconds for an edit to be found where the reply admits that it couldn't wait for it."""

POLL_S = 0.2
SAMPLE_S = 0.5
SWITCHED_FILES = 300
"""Files that the older commit differs in, at least, or a third of them where there are fewer."""

SAMPLED_FILES = 60
SEEN_SHARE = 0.9
"""Least share of the definitions seen by `PATTERNS` that the index must have; what they see in strings and
comments is none."""

SEEN_LEAST = 10
"""Definitions below which that share says nothing."""

DEAD = re.compile(r"the (\w+) process .*; it is started again|the process that worked on .* ended")
TROUBLE = re.compile(r"\bERROR\b|\bCRITICAL\b|^Traceback|^\w*Error: ")

EDITS = {
    "python": "\n\ndef {name}():\n    pass\n",
    "javascript": "\nfunction {name}() {{}}\n",
    "typescript": "\nfunction {name}() {{}}\n",
    "go": "\nfunc {name}() {{}}\n",
    "rust": "\nfn {name}() {{}}\n",
    "c": "\nint {name}(void)\n{{\n    return 0;\n}}\n",
    "cpp": "\nint {name}()\n{{\n    return 0;\n}}\n",
    "ruby": "\ndef {name}\nend\n",
    "php": "\nfunction {name}() {{}}\n",
    "java": "\nclass {name} {{}}\n",
    "csharp": "\nclass {name} {{}}\n",
    "kotlin": "\nfun {name}() {{}}\n",
    "scala": "\nclass {name}\n",
    "swift": "\nfunc {name}() {{}}\n",
    "lua": "\nfunction {name}() end\n",
    "bash": "\n{name}() {{ :; }}\n",
}
"""A definition at the end of a file, by language."""

EDITS_ABOVE = frozenset({"lua"})
"""The languages whose files may end in a statement behind which nothing may follow."""

LANGUAGE_NAMES = {"C#": "csharp", "C++": "cpp", "Shell": "bash"}
"""What the index calls a language, where that isn't its name in lower case."""

_MODIFIERS = r"^(?:(?:public|protected|private|internal|static|final|abstract|sealed|partial|open) )*"
PATTERNS = {
    "go": r"^func (?:\([^)]*\) )?(\w+)\(|^type (\w+) (?:struct|interface)\b",
    "rust": r"^(?:pub(?:\([^)]*\))? )?(?:(?:async|const|unsafe) )*(?:fn|struct|enum|trait) (\w+)",
    "ruby": r"^ *(?:class|module) (?:\w+::)*(\w+)|^ *def (?:self\.)?(\w+[?!=]?)",
    "php": r"^(?:(?:abstract|final|readonly) )*(?:class|interface|trait) (\w+)",
    "java": _MODIFIERS + r"(?:class|interface|enum|record) (\w+)",
    "csharp": _MODIFIERS + r"(?:class|interface|struct|enum) (\w+)",
    "kotlin": r"^(?:(?:public|internal|private|suspend|inline|data|abstract|open|sealed) )*"
    r"(?:class|interface|object) (\w+)",
    "scala": r"^(?:(?:private|final|sealed|abstract|implicit|case) )*(?:class|trait|object) (\w+)",
    "swift": _MODIFIERS + r"(?:func|class|struct|enum|protocol) (\w+)",
    "lua": r"^(?:local )?function (?:\w+[.:])*(\w+) ?\(",
    "bash": r"^(?:function )?(\w+) ?\(\) ?\{",
    "javascript": r"^(?:export )?(?:default )?(?:async )?(?:function\*?|class) (\w+)",
    "typescript": r"^(?:export )?(?:default )?(?:async |abstract )?(?:function\*?|class|interface) (\w+)",
    "c": r"^(?:struct|enum|union) (\w+) \{",
    "cpp": r"^(?:class|struct) (\w+)(?: final)? *[:{]",
}
"""What looks like a definition at the beginning of a line; Python is parsed by its own parser instead."""


class Repository(NamedTuple):
    """A public repository at a commit, with the language that most of it is written in."""

    name: str
    commit: str
    language: str

    @property
    def mirror(self) -> str:
        """Return the name of its folder among the mirrors."""
        return self.name.replace("/", "+")


_PINNED = """\
nvim-telescope/telescope.nvim 7d324792b7943e4aa16ad007212e6acc6f9fe335 Lua
JuliaData/DataFrames.jl 3924697ea6c02ac186a95b298a4e06b52e881b53 Julia
guzzle/guzzle 2779e868a00289e1b1fd854af030c43a06f4bcb4 PHP
encode/httpx ae1b9f66238f75ced3ced5e4485408435de10768 Python
gin-gonic/gin dcaa4296d111981ffb31ac3eba90bb63e1eb5ab9 Go
psf/requests 1f6589ec3a1ee910f9a65cc3ceac60b26677bc0e Python
fmtlib/fmt 60ccad511fd680cb91d8b60a315759f71c67bef9 C++
pmndrs/zustand f094eebe9bd3b4b0d77b997f69ab1d273f69a877 TypeScript
junegunn/fzf 956562daaa82ddf55ea8f7aeab56883377b742c6 Go
lodash/lodash 9429a4ee03056e5b7be9a85a54571d7630f05983 JavaScript
expressjs/express a3714473feb3d2908add734d340e7755fd85e0a3 JavaScript
pallets/flask 2ac89889f4cc330eabd50f295dcef02828522c69 Python
BurntSushi/ripgrep 3fce3b5bb0236da2df6d99672afb8a719642eca7 Rust
elm/compiler 1bd5b36915a38335195ca7792fe3995f53d84d5e Haskell
vapor/vapor 13efaeefd52a965009fc6a69a96ba66e7f20402e Swift
google/gson 9835b6f90192f79cdf5300c528fc6212455fb6c1 Java
sidekiq/sidekiq 1bb4aa06e5aa178a114a5e855f9f3d5c24f6c61b Ruby
clojure/clojure 58b075eca85dd94111b90157f94947f649a5ba4d Clojure
serde-rs/serde 1023d077510b4aef36a41ef56fdb7798568a2654 Rust
bats-core/bats-core d22e41faad59f5fd942a88c992b4913a27a460c4 Shell
mojolicious/mojo b4de430651b722f560b1577da9018e3f402d96ab Perl
ninenines/cowboy 5c8535f409aa2fd49deb355e8ee43d5c06eb1c90 Erlang
jqlang/jq 579e6f76cffd7643ba4002a2c3618a5ea710589a C
nvm-sh/nvm b17550a0b9ab691439815dfccc8b73e3a59fa103 Shell
symfony/console 6b099f3306f7c9c2d2786ed736d0026b2903205f PHP
tidyverse/dplyr d5e94e7fa8fd4a5f79c1a707d1842216bb4c691f R
phoenixframework/phoenix 167c46950cf53aef363d672687cc653267c20aa6 Elixir
LuaLS/lua-language-server 7a73c7889c1ec981dfd76fba38f5096379f62f99 Lua
Alamofire/Alamofire 7595cbcf59809f9977c5f6378500de2ad73b7ddb Swift
AutoMapper/AutoMapper 4b9633f60ee386cf0efc69b967e04fa28405cf3e C#
tigerbeetle/tigerbeetle 52ad553f96355e63516ecfc8db25540c17c1c0c7 Zig
clap-rs/clap 6982fb1c98c7247e38a6d4f04191b94e30497e7b Rust
dart-lang/http a0d49cb2f80eae038c835394014aadcae8a95c8b Dart
pytest-dev/pytest df87db7b0462fb764ef73fa00561adf8ad047572 Python
vuejs/core e2bede96134f757aad5c5b33ac9be055022dbfc8 TypeScript
apache/commons-lang d15939ef46f0bd4144994df8be95cf5a7f91eb52 Java
elixir-lang/elixir 63a7a054ceb2383d795731db8e6ea28aa30e4a03 Elixir
jekyll/jekyll 202df571314ba1d18e9fccd81d12aaad4a703c38 Ruby
square/okhttp 1682d9bac8c03dffde2969b0b74d47649d0dbb52 Kotlin
tokio-rs/tokio ea91b33ca57ff0581b38e735cc108f831bccbdaa Rust
sqlalchemy/sqlalchemy f35da7e2b9349a08b8de1f6bd3b07c8bf8616790 Python
typelevel/cats 7f2dce5162074c0a0ebc597b89b6cd25e5fe0536 Scala
nlohmann/json 199dea11b17c533721b26249e2dcaee6ca1d51d3 C++
composer/composer eba7baa59eb1b59246cf9800b0120fe78915b6ac PHP
ohmyzsh/ohmyzsh 830a5bcfd29fd577fdcd5f3b8e98cbaf973421fa Shell
JamesNK/Newtonsoft.Json 09bb545d72969ad7fb4ea07db0d5c34f4fc07877 C#
grpc/grpc-go 4793ad0474669eafbd5346c8a3d098fdfa542498 Go
trpc/trpc 340811ba5320637fbaf48fccf3dbfdd258bd34db TypeScript
abseil/abseil-cpp 926f1d05a4f85663e4ca057f70f1a7f0a7d6b762 C++
redis/redis 4f8cdc2a1ea53e42955af758aabffee67cb455dd C
prometheus/prometheus d15adb9ad7e5d9fbde3a9a8f30200593a5a14d86 Go
fish-shell/fish-shell ff724192d0353341cef6a0a8154b59603d533cd1 Rust
Kong/kong 22246ef28c16842098369b494eef879222e30c7b Lua
playframework/playframework 1a666e1866bfe54b166cfa8689f7c9d56e1b2224 Scala
vitejs/vite a98c8d95d552c6fa98ab66fb810f5b39ad5abf49 TypeScript
jgm/pandoc 0a9a2f261510322ee5a33a2a7facce54b8a718ec Haskell
flutter/samples 978919bde51385c9524fe46d6b51f3b161d80486 Dart
ktorio/ktor ef92e5537d7465961f1b3f2b21e217fc35bcfa1f Kotlin
fastapi/fastapi c3f316b7e814667e8ee81e03a7330d00ee61e45c Python
laravel/framework bd71b45fbb7e672957bf6ff61baddefe15fbca6a PHP
nim-lang/Nim b534f34e95402479c1d5c5bdab92d87862f323d4 Nim
typeorm/typeorm 281bfba42a5813b106bcf5ba79bc7f7251bd1e73 TypeScript
curl/curl 5c61e168698a72b87437d58ed728bcdea6d5db42 C
rails/rails 2a2db1e8d6d104ee0611efcae7eb023af65cff34 Ruby
haskell/cabal f5319cdb191236b3bc93e79c0b14e2c637300c5a Haskell
hashicorp/terraform 883c7221ee2e0bc2fad6912fd4b3cc4b53a598a7 Go
dotnet/efcore ecd0ba4c23377e479ce94c74119c499f1339351c C#
ocaml/dune 8deee3bb92dcf42a861aaf3ac35182ca10511210 OCaml
sveltejs/svelte 15720b16a5ef33e3e1f4301c77b94ec375070e73 JavaScript
spring-projects/spring-framework 91eb42645e26a7ef9382b4a655bcefe5c8682fee Java
scala/scala 75a4352f73d5a22c61974a62055ce5909d6ef90c Scala
babel/babel 1da3cfa1a25503c7ecba7304f8738933e6d16dca TypeScript
"""

REPOSITORIES = tuple(Repository(*row.split()) for row in _PINNED.splitlines())
"""From the smallest to the largest."""


@dataclass
class Result:
    """What one repository showed. Times are seconds since OpenProject was sent, None for what never came.

    `memory_mb` is the highest sum of daemon, indexer and their helpers, `embedder_mb` the embedder's peak and
    `total_mb` the highest sum of all. `deaths` counts ended processes by kind. `failures` is empty for one
    that passed, `remarks` holds what is worth knowing.
    """

    name: str
    commit: str
    language: str
    files: int = 0
    symbols: int = 0
    first_s: float | None = None
    read_s: float | None = None
    ready_s: float | None = None
    linked_s: float | None = None
    contents: int = 0
    embedded: float | None = None
    slowest_answer_ms: float = 0.0
    edit_s: float | None = None
    switched_files: int = 0
    switch_s: list[float] = field(default_factory=list)
    definitions_seen: float | None = None
    memory_mb: float = 0.0
    embedder_mb: float = 0.0
    total_mb: float = 0.0
    left_out: dict[str, int] = field(default_factory=dict)
    deaths: dict[str, int] = field(default_factory=dict)
    seconds: float = 0.0
    failures: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)


class Failed(Exception):
    """A repository can't go on: it is stuck, out of time, or the daemon is gone."""


class Memory:
    """The memory of a daemon and all its processes, sampled on a thread of its own while it is entered."""

    def __init__(self, pid: int) -> None:
        self.own_mb = self.embedder_mb = self.total_mb = 0.0
        self._root = psutil.Process(pid)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._sample, name="memory")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _sample(self) -> None:
        while not self._ended.wait(SAMPLE_S):
            own = embedder = 0.0
            with suppress(psutil.Error):
                for process in (self._root, *self._root.children(recursive=True)):
                    with suppress(psutil.Error):
                        pss = process.memory_full_info().pss / 1e6
                        if "foveal.daemon.embedding.worker" in process.cmdline():
                            embedder += pss
                        else:
                            own += pss
            self.own_mb = max(self.own_mb, own)
            self.embedder_mb = max(self.embedder_mb, embedder)
            self.total_mb = max(self.total_mb, own + embedder)


class Record(NamedTuple):
    """A file as the index has it."""

    digest: bytes
    language: str
    skipped: str
    symbols: int


class Index:
    """The index of a project, read beside the daemon."""

    def __init__(self, state: str, root: Path) -> None:
        self._path = os.path.join(project_folder(state, str(root)), "index.sqlite")

    def files(self) -> dict[str, Record]:
        """Return its files by path."""
        rows = self.rows("SELECT path, digest, language, skipped, symbols FROM files")
        return {path: Record(*rest) for path, *rest in rows}

    def names(self, path: str) -> set[str]:
        """Return the last names of a file's definitions."""
        query = "SELECT base FROM definitions JOIN files ON files.id = file_id WHERE path = ?"
        return {base for (base,) in self.rows(query, path)}

    def callee(self, chooser: random.Random) -> tuple[str, str, int, set[str]] | None:
        """Return a called definition whose name is unique and no bare word: its name, path and line, and the
        files that call it."""
        query = """
            SELECT base, path, start_line, definitions.id FROM definitions JOIN files ON files.id = file_id
            WHERE definitions.kind IN ('function', 'method') AND length(base) > 4 AND definitions.id IN
                (SELECT target FROM links WHERE target > 0 AND kind = 0)
            GROUP BY base HAVING COUNT(*) = 1 ORDER BY base"""
        found = [row for row in self.rows(query) if re.fullmatch(r"\w*[a-z][A-Z_]\w*", row[0])]
        if not found:
            return None
        base, path, line, number = chooser.choice(found)
        callers = "SELECT DISTINCT path FROM links JOIN files ON id = file_id WHERE target = ? AND kind = 0"
        return base, path, line, {caller for (caller,) in self.rows(callers, number)}

    def imported(self, chooser: random.Random) -> tuple[str, set[str]] | None:
        """Return a file that others import, and these."""
        found = self.rows("SELECT DISTINCT target FROM imports WHERE target != '' ORDER BY target")
        if not found:
            return None
        (target,) = chooser.choice(found)
        query = "SELECT DISTINCT path FROM imports JOIN files ON files.id = file_id WHERE target = ?"
        return target, {path for (path,) in self.rows(query, target)}

    def rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        """Return what a query finds."""
        with closing(sqlite3.connect(f"file:{self._path}?mode=ro", uri=True, timeout=30)) as connection:
            return connection.execute(query, values).fetchall()


@dataclass
class Trial:
    """One repository in a daemon, from its opening to its last switch."""

    client: Client
    index: Index
    root: Path
    older: str
    result: Result
    deadline: float
    seconds: float
    chooser: random.Random = field(default_factory=lambda: random.Random(SEED))

    def run(self) -> None:
        """Go through all of it; what fails is in the result."""
        started = time.monotonic()
        try:
            self.open()
            self.compare("after the first indexing")
            self.embed()
            self.ask()
            self.edit()
            for commit, when in ((self.older, "an older commit"), (self.result.commit, "the newer commit")):
                self.switch(commit, f"after the switch to {when}")
        except (Failed, RpcError, OSError, sqlite3.Error, subprocess.CalledProcessError) as error:
            self.fail(f"{type(error).__name__}: {error}")
        finally:
            self.result.seconds = round(time.monotonic() - started, 1)

    def fail(self, problem: str) -> None:
        """Note a failure."""
        self.result.failures.append(problem)

    def open(self) -> None:
        """Open the project, and wait until it is linked."""
        started, result = time.monotonic(), self.result
        names = (name for name, _ in seen_in_sample(self.root, tracked(self.root)) if len(name) > 3)
        first = next(names, "readme")
        self.client.call("OpenProject", {"path": str(self.root)}, CALL_S)

        def since() -> float:
            return round(time.monotonic() - started, 2)

        def is_linked(status: Mapping[str, Any]) -> bool:
            if result.first_s is None and self.query(first, "no")["results"]:
                result.first_s = since()
            if result.read_s is None and status["state"] not in ("scanning", "degraded"):
                result.read_s = None if status["files_pending"] else since()
            if result.ready_s is None and status["state"] == "ready":
                result.ready_s = since()
            return status["state"] == "ready" and not status["files_unlinked"]

        status = self.wait(is_linked, "to be linked")
        result.linked_s = since()
        result.files, result.symbols = status["files"], status["symbols"]
        result.left_out = dict(status["skipped"])
        result.remarks += [f"degraded: {reason}" for reason in status["degraded"]]

    def embed(self) -> None:
        """Give embedding its time, and tell how far it came."""
        limit = time.monotonic() + self.seconds
        while True:
            status = self.status()
            if status["embedding"] in ("done", "off") or time.monotonic() > limit:
                break
            if status["embedding"] == "failed":
                self.fail(f"embedding failed: {status['degraded']}")
                break
            time.sleep(POLL_S)
        self.result.contents = status["embedded"] + status["pending"]
        self.result.embedded = round(status["embedded"] / max(self.result.contents, 1), 3)
        if self.seconds and self.result.contents and not status["embedded"]:
            self.fail(f"nothing was embedded in {self.seconds:.0f} s")

    def ask(self) -> None:
        """Ask ten questions; those with one right answer must show it."""
        sources = self.usual_files()
        path = self.chooser.choice(sorted(sources))
        has_symbols = bool(sources[path].symbols)
        stem = re.sub(r"[^a-zA-Z]+", " ", Path(path).stem).strip() or "main"
        self.expect("how are errors handled and reported to the user", None)
        self.expect(f"where do we decide what {stem} does", None)
        self.expect(f"outline of {path}", {path} if has_symbols else None, empty=not has_symbols)
        found = self.index.callee(self.chooser)
        if found is not None:
            name, path, line, callers = found
            self.expect(name, set(git(self.root, "grep", "-lzwF", name).split("\0")))
            self.expect(f"where is {name} defined", {path})
            self.expect(f"who calls {name}", callers)
            self.expect(f"what does {name} call", None, empty=True)
            self.expect(
                f'Error: it failed\n  File "{path}", line {line}, in {name}\n  at {path}:{line}', {path}
            )
        else:
            for question in (stem, f"where is {stem} defined", f"who calls {stem}", f"what does {stem} call"):
                self.expect(question, None, empty=True)
            self.expect(f"Error: it failed\n  at {path}:1", {path})
        imported = self.index.imported(self.chooser)
        if imported is not None:
            self.expect(f"what imports {imported[0]}", imported[1])
        else:
            self.expect(f"what imports {path}", None, empty=True)
        self.context(path, f"Explain what {found[0] if found else stem} does and what could break it.")

    def expect(self, question: str, paths: set[str] | None, *, empty: bool = False) -> None:
        """Ask; one of `paths` must be among the answers, and where none is given there must be any."""
        started = time.monotonic()
        reply = self.query(question, "shown")
        self.answered(question, started)
        found = {hit["path"] for hit in reply["results"]}
        if (paths is not None and not paths & found) or (not found and not empty):
            expected = f"none of {sorted(paths)[:3]}" if paths else "nothing"
            self.fail(f"{question!r} found {expected}, but {sorted(found)[:3]} by {reply['intent']}")

    def context(self, path: str, prompt: str) -> None:
        """Ask for a context with a file in focus."""
        started = time.monotonic()
        params = {"cwd": str(self.root), "prompt": prompt, "focus_paths": [path]}
        reply = self.client.call("GetContext", params, CALL_S)
        self.answered(prompt, started)
        if path not in reply["context"]:
            self.fail(f"the context with {path} in focus doesn't name it; gaps: {reply['gaps']}")

    def answered(self, question: str, started: float) -> None:
        """Note how long an answer took."""
        took = time.monotonic() - started
        self.result.slowest_answer_ms = max(self.result.slowest_answer_ms, round(took * 1000, 1))
        if took > ANSWER_S:
            self.fail(f"{question!r:.80} was answered after {took:.0f} s")

    def edit(self) -> None:
        """Define something in a file, see it by its word and its name, take it back, see it no more."""
        files, name = sorted(self.usual_files().items()), "torturedplum"
        self.chooser.shuffle(files)
        whole = (path for path, each in files if not self.is_broken(path, each.language))
        path = next(whole, files[0][0])
        language = self.index.files()[path].language
        before = (self.root / path).read_bytes()
        started = time.monotonic()
        added = EDITS.get(language, "\n{name}\n").format(name=name)
        changed = added.encode() + before if language in EDITS_ABOVE else before + added.encode()
        (self.root / path).write_bytes(changed)
        self.follow(lambda: path in self.paths_with(name) | self.defined(name), f"the edit of {path}")
        self.result.edit_s = round(time.monotonic() - started, 2)
        self.settle("after an edit")
        if language in EDITS and path not in self.defined(name):
            self.fail(f"ready, and FindSymbols doesn't find {name} in {path}")
        (self.root / path).write_bytes(before)
        self.follow(lambda: not self.paths_with(name) | self.defined(name), f"the edit of {path} taken back")
        self.settle("after an edit was taken back")
        if self.defined(name):
            self.fail(f"ready, and FindSymbols still finds {name}, which is gone")

    def is_broken(self, path: str, language: str) -> bool:
        """Whether a grammar can't read all of a file, so that what follows may be no definition to it."""
        return parse_source((self.root / path).read_bytes(), language).broken

    def usual_files(self) -> dict[str, Record]:
        """Return its files of some size in the language that most of it is written in."""
        own = LANGUAGE_NAMES.get(self.result.language, self.result.language.lower())
        usual = {
            path: record
            for path, record in self.index.files().items()
            if not record.skipped and re.fullmatch(r"[\w./+-]+", path)
        }
        found = {path: record for path, record in usual.items() if record.language == own}
        small = {path: record for path, record in found.items() if (self.root / path).stat().st_size < 50_000}
        return small or found or usual

    def follow(self, shows: Callable[[], bool], what: str) -> None:
        """See that an answer shows a change at once, or in time where it admits that it doesn't yet."""
        reply = self.query("torturedplum", "tree")
        if shows():
            return
        if not is_behind(reply):
            self.fail(f"{what} isn't visible with fresh = tree, and the reply doesn't say so")
        limit = time.monotonic() + VISIBLE_S
        while not shows():
            if time.monotonic() > limit:
                raise Failed(f"{what} isn't visible after {VISIBLE_S:.0f} s")
            time.sleep(POLL_S)

    def paths_with(self, word: str) -> set[str]:
        """Return the files in which a search shows a word."""
        return {hit["path"] for hit in self.query(word, "shown")["results"] if word in hit["snippet"]}

    def defined(self, name: str) -> set[str]:
        """Return the files that define a name."""
        reply = self.client.call("FindSymbols", {"cwd": str(self.root), "query": name}, CALL_S)
        return {each["path"] for each in reply["symbols"] if each["symbol"].endswith(name)}

    def switch(self, commit: str, when: str) -> None:
        """Check out another commit, and see it as soon as the project says that it is ready."""
        changed = git(self.root, "diff", "--name-only", "--no-renames", "-z", "HEAD", commit).split("\0")
        self.result.switched_files = len(changed) - 1
        git(self.root, "checkout", "--quiet", commit)
        started = time.monotonic()
        reply = self.query("torturedplum", "tree")
        if is_behind(reply):
            self.result.remarks.append(f"{when} the first answer said that the tree wasn't compared")
            limit = time.monotonic() + VISIBLE_S
            while is_behind(self.query("torturedplum", "tree")) and time.monotonic() < limit:
                time.sleep(POLL_S)
        self.settle(when)
        self.result.switch_s.append(round(time.monotonic() - started, 2))

    def settle(self, when: str) -> None:
        """Wait until the project is ready again, and compare it with the disk."""
        self.wait(lambda status: status["state"] == "ready" and not status["files_unlinked"], when)
        self.compare(when)

    def compare(self, when: str) -> None:
        """Compare an index that is said to be ready with what git lists and the disk holds."""
        status, known = self.status(), self.index.files()
        if status["files"] != len(known):
            self.fail(f"{when}: Status says {status['files']} files, the index has {len(known)}")
        found, left = differences(self.root, known)
        self.result.failures += [f"{when}: ready {problem}" for problem in found]
        self.result.left_out |= {f"tracked:{reason}": count for reason, count in left.items()}
        read = {path for path, record in known.items() if not record.skipped}
        seen = list(seen_in_sample(self.root, read & tracked(self.root)))
        missed = [(name, path) for name, path in seen if name not in self.index.names(path)]
        if len(seen) >= SEEN_LEAST:
            share = round(1 - len(missed) / len(seen), 3)
            if missed and self.result.definitions_seen is None:
                self.result.remarks.append(f"definitions unknown, such as {missed[:5]}")
            self.result.definitions_seen = min(share, self.result.definitions_seen or 1.0)
            if share < SEEN_SHARE:
                self.fail(
                    f"{when}: {len(missed)} of {len(seen)} definitions are unknown, such as {missed[:3]}"
                )

    def query(self, text: str, fresh: str) -> dict[str, Any]:
        """Ask the daemon."""
        params = {"cwd": str(self.root), "query": text, "fresh": fresh}
        reply: dict[str, Any] = self.client.call("Query", params, CALL_S)
        return reply

    def status(self) -> dict[str, Any]:
        """Return the project as Status has it, where that doesn't contradict itself."""
        projects = self.client.call("Status", {}, CALL_S)["projects"]
        found: dict[str, Any] = next(each for each in projects if each["root"] == str(self.root))
        if found["state"] == "ready" and (found["files_pending"] or found["files_unhashed"]):
            self.fail(
                f"ready with {found['files_pending']} pending, {found['files_unhashed']} unhashed files"
            )
        return found

    def wait(self, holds: Callable[[Mapping[str, Any]], bool], what: str) -> dict[str, Any]:
        """Return the Status for which something holds. Raises `Failed` where it is stuck or late."""
        signs = ("state", "files", "symbols", "files_pending", "files_unhashed", "files_unlinked")
        before, moved = None, time.monotonic()
        while True:
            status = self.status()
            if holds(status):
                return status
            now = time.monotonic()
            told = {name: status[name] for name in signs}
            if told != before:
                before, moved = told, now
            if now - moved > STUCK_S:
                raise Failed(f"stuck for {STUCK_S:.0f} s, waiting {what}: {told}, {status['degraded']}")
            if now > self.deadline:
                raise Failed(f"not finished in time, waiting {what}: {told}, {status['degraded']}")
            time.sleep(POLL_S)


LONG_STRINGS = re.compile(r"\[(=*)\[.*?\]\1\]", re.DOTALL)
"""Lua's, in which tests keep programs."""

SUFFIXES = {
    ".py": "python", ".js": "javascript", ".mjs": "javascript", ".cjs": "javascript", ".ts": "typescript",
    ".go": "go", ".rs": "rust", ".rb": "ruby", ".php": "php", ".java": "java", ".cs": "csharp",
    ".kt": "kotlin", ".scala": "scala", ".swift": "swift", ".lua": "lua", ".sh": "bash", ".c": "c",
    ".cc": "cpp", ".cpp": "cpp", ".hpp": "cpp",
}  # fmt: skip


def is_behind(reply: Mapping[str, Any]) -> bool:
    """Whether a reply says that it couldn't wait for what changed on the disk."""
    return any("compared with the disk" in reason for reason in reply["degraded"])


def differences(root: Path, known: Mapping[str, Record]) -> tuple[list[str], Counter[str]]:
    """Return in words how an index differs from what git lists and the disk holds, and how many of the listed
    files are left out, by the reason that the project's rules give."""
    listed = tracked(root)
    problems = []
    if extra := sorted(known.keys() - listed):
        problems.append(f"with {len(extra)} files that git doesn't list, such as {extra[:3]}")
    reasons = {path: _reason(root, path) for path in sorted(listed - known.keys())}
    if lost := [path for path, reason in reasons.items() if reason in ("", "missing")]:
        problems.append(f"without {len(lost)} files, such as {lost[:3]}")
    if stale := [path for path, record in sorted(known.items()) if _is_stale(root / path, record)]:
        problems.append(f"with {len(stale)} files not as they are, such as {stale[:3]}")
    if hurt := sorted(path for path, record in known.items() if record.skipped == "quarantined"):
        problems.append(f"with {len(hurt)} files that ended the indexer, such as {hurt[:3]}")
    return problems, Counter(reason for reason in reasons.values() if reason not in ("", "missing"))


def _reason(root: Path, path: str) -> str:
    if ScanSettings().skip_folders.intersection(path.split("/")[:-1]):
        return "vendored"
    return left_out(str(root), path, ScanSettings(), System()).reason


def _is_stale(path: Path, record: Record) -> bool:
    """Whether the index has another content of a file than the disk."""
    if record.skipped == "symlink":
        return not path.is_symlink()
    if not path.is_file():
        return True
    if record.skipped == "too_large":
        return path.stat().st_size <= ScanSettings().max_file_bytes
    return not record.skipped and hashlib.blake2b(path.read_bytes(), digest_size=16).digest() != record.digest


def seen_in_sample(root: Path, paths: set[str]) -> Iterator[tuple[str, str]]:
    """Return the definitions, with their files, that are seen in some files without the product."""
    chosen = [path for path in sorted(paths) if Path(path).suffix in SUFFIXES and ".min." not in path]
    for path in random.Random(SEED).sample(chosen, min(len(chosen), SAMPLED_FILES)):
        full = root / path
        if not full.is_symlink() and full.stat().st_size <= ScanSettings().max_file_bytes:
            yield from ((name, path) for name in definitions(SUFFIXES[full.suffix], full))


def tracked(root: Path) -> set[str]:
    """Return what git lists of files, without submodules and what a clone without large files lacks."""
    rows = git(root, "ls-files", "--stage", "-z").split("\0")
    paths = (row.partition("\t")[2] for row in rows if row and not row.startswith("160000 "))
    return {path for path in paths if os.path.lexists(root / path)}


def definitions(language: str, path: Path) -> set[str]:
    """Return the names that a file seems to define; for Python those that it does."""
    text = path.read_bytes().decode("utf-8", "replace")
    if language != "python":
        text = LONG_STRINGS.sub("", text) if language == "lua" else text
        found = re.finditer(PATTERNS[language], text, re.MULTILINE)
        return {next(filter(None, match.groups())) for match in found}
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return set()
    kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    return {node.name for node in tree.body if isinstance(node, kinds)}


def git(folder: Path, *arguments: str) -> str:
    """Return what git says. Raises `subprocess.CalledProcessError`."""
    command = ["git", "-c", "advice.detachedHead=false", "-c", "gc.auto=0", *arguments]
    done = subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return os.fsdecode(done.stdout)


def check_out(repository: Repository, mirrors: Path | None, target: Path) -> str:
    """Write a repository's files at its commit; return the older commit that it is switched to."""
    mirror = mirrors / repository.mirror / "repo" if mirrors else None
    source = str(mirror) if mirror and mirror.is_dir() else f"https://github.com/{repository.name}"
    git(target.parent, "clone", "--quiet", "--no-hardlinks", "--no-checkout", source, str(target))
    git(target, "checkout", "--quiet", repository.commit)
    count = git(target, "ls-files", "-z").count("\0")
    history = git(target, "rev-list", "--first-parent", "HEAD").split()
    older = repository.commit
    for power in range(len(history).bit_length()):
        candidate = history[min(1 << power, len(history) - 1)]
        changed = git(target, "diff", "--raw", "--no-abbrev", "--no-renames", "-z", "HEAD", candidate).split(
            "\0"
        )
        if not _are_there(target, [row.split()[3] for row in changed[:-1:2]]):
            continue
        older = candidate
        if len(changed) // 2 >= min(SWITCHED_FILES, count // 3):
            break
    return older


def _are_there(clone: Path, blobs: Sequence[str]) -> bool:
    """Whether a clone has the contents; one that was made without large files lacks some."""
    asked = "".join(f"{blob}\n" for blob in blobs if blob.strip("0"))
    command = ["git", "cat-file", "--batch-check"]
    done = subprocess.run(command, cwd=clone, check=True, capture_output=True, input=asked, text=True)
    return " missing" not in done.stdout


@contextmanager
def own_daemon(folder: Path, results: Sequence[Result]) -> Iterator[dict[str, str]]:
    """Run a daemon; note in the results its memory, its processes that ended, and its trouble."""
    environ = environment(folder)
    with ensure_daemon(None, environ, CALL_S) as client:
        pid = client.call("Ping")["pid"]
        process = psutil.Process(pid)
        try:
            with Memory(pid) as memory:
                yield environ
        finally:
            problem = _stop(process, environ)
            log = Path(environ["FOVEAL_STATE_DIR"]) / "foveal.log"
            lines = log.read_text(encoding="utf-8", errors="replace").splitlines() if log.exists() else []
            deaths = Counter(match[1] or "file" for line in lines if (match := DEAD.search(line)))
            trouble = [line for line in lines if TROUBLE.search(line) and not DEAD.search(line)]
            for result in results:
                result.memory_mb, result.embedder_mb = round(memory.own_mb), round(memory.embedder_mb)
                result.total_mb, result.deaths = round(memory.total_mb), dict(deaths)
                result.failures += [problem] if problem else []
                result.failures += [f"processes ended: {dict(deaths)}"] if deaths else []
                result.failures += [f"in the log: {line:.300}" for line in trouble[:3]]
                if memory.total_mb > MEMORY_MB:
                    result.failures.append(f"{memory.total_mb:,.0f} MB of memory")


def _stop(process: psutil.Process, environ: Mapping[str, str]) -> str:
    """End a daemon; return what was wrong with its end, or ""."""
    try:
        with suppress(RpcError, OSError), ensure_daemon(None, environ, CALL_S) as client:
            client.call("Shutdown", {}, CALL_S)
        process.wait(CALL_S)
    except psutil.TimeoutExpired:
        process.kill()
        return f"the daemon didn't end within {CALL_S:.0f} s"
    return ""


def torture(repositories: Sequence[Repository], options: argparse.Namespace) -> list[Result]:
    """Put repositories through a daemon, at the same time if there are several."""
    results = [Result(*repository) for repository in repositories]
    with tempfile.TemporaryDirectory(prefix="fv-", ignore_cleanup_errors=True) as temporary:
        folder = Path(temporary).resolve()
        roots = [folder / repository.mirror for repository in repositories]
        older = [
            check_out(repository, options.folder, root)
            for repository, root in zip(repositories, roots, strict=True)
        ]
        with ExitStack() as stack:
            environ = stack.enter_context(own_daemon(folder / "d", results))
            threads = stack.enter_context(ThreadPoolExecutor(len(results)))
            deadline = time.monotonic() + options.limit
            trials = [
                Trial(
                    stack.enter_context(ensure_daemon(None, environ, CALL_S)),
                    Index(environ["FOVEAL_STATE_DIR"], root),
                    root,
                    commit,
                    result,
                    deadline,
                    options.seconds,
                )
                for root, commit, result in zip(roots, older, results, strict=True)
            ]
            for ended in [threads.submit(trial.run) for trial in trials]:
                ended.result()
    return results


HEADINGS = (
    "repository", "language", "files", "first", "ready", "linked", "embedded", "answer ms", "edit", "switch",
    "MB", "embedder MB", "left out", "ended", "failures",
)  # fmt: skip


def row(result: Result) -> str:
    """Return the line of the table about a repository."""
    left = ", ".join(f"{count} {reason}" for reason, count in sorted(result.left_out.items()) if count)
    cells = (
        result.name,
        result.language,
        f"{result.files:,}",
        *(f"{each:.1f}" if each is not None else "never" for each in (result.first_s, result.ready_s)),
        f"{result.linked_s:.1f}" if result.linked_s is not None else "never",
        f"{result.embedded:.0%} of {result.contents:,}" if result.embedded is not None else "",
        f"{result.slowest_answer_ms:.0f}",
        f"{result.edit_s:.1f}" if result.edit_s is not None else "",
        f"{'/'.join(f'{each:.1f}' for each in result.switch_s)} ({result.switched_files})",
        f"{result.memory_mb:.0f}",
        f"{result.embedder_mb:.0f}",
        left,
        ", ".join(f"{count} {kind}" for kind, count in result.deaths.items()),
        "; ".join(result.failures).replace("|", "/").replace("\n", " ") or "none",
    )
    return f"| {' | '.join(cells)} |"


def main(arguments: list[str] | None = None) -> int:
    """Run, print the table as it grows, and write the file of results after each."""
    options = _parser().parse_args(arguments)
    kept: dict[str, Any] = {}
    if options.json_file and options.resume and options.json_file.exists():
        kept = json.loads(options.json_file.read_text(encoding="utf-8"))["results"]
    chosen = [each for each in REPOSITORIES if not options.only or each.name in options.only]
    done = [
        Result(**kept[each.name]) for each in chosen if kept.get(each.name, {}).get("commit") == each.commit
    ]
    names = {result.name for result in done}
    waiting = [each for each in chosen if each.name not in names]
    machine = look()
    print(f"{machine.description}, {machine.date}, load {machine.load[0]:.1f}\n", flush=True)
    print(f"| {' | '.join(HEADINGS)} |\n|{'---|' * len(HEADINGS)}", flush=True)
    for result in done:
        print(row(result), flush=True)
    for start in range(0, len(waiting), options.together):
        results = torture(waiting[start : start + options.together], options)
        done += results
        for result in results:
            print(row(result), flush=True)
            kept[result.name] = asdict(result)
        if options.json_file:
            _write(options.json_file, {"machine": asdict(machine), "results": kept})
    failed = [result.name for result in done if result.failures]
    languages = len({result.language for result in done})
    print(f"\n{len(done)} repositories of {languages} languages, {len(failed)} failed: {', '.join(failed)}")
    return 1 if failed else 0


def _write(path: Path, body: Mapping[str, Any]) -> None:
    """Replace the file of results, which is whole at every moment."""
    new = path.with_name(f"{path.name}.new")
    new.write_text(json.dumps(body, indent=1) + "\n", encoding="utf-8")
    new.replace(path)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.torture",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--folder", type=Path, metavar="DIR", help="bare clones, as OWNER+NAME/repo")
    add("--only", action="append", metavar="NAME", help="this repository only; may be given several times")
    add("--seconds", type=float, default=20.0, help="time to embed, for each (default: %(default)s)")
    add("--limit", type=float, default=720.0, help="seconds for a repository in all (default: %(default)s)")
    add("--together", type=int, default=1, metavar="N", help="so many repositories in one daemon at once")
    add("--json-file", type=Path, metavar="FILE", help="write the results there, after each repository")
    add("--resume", action="store_true", help="leave out what that file has of the same commit")
    return parser


if __name__ == "__main__":
    sys.exit(main())
