"""The structure benchmark reads sources by itself: every call with its place and form, every definition."""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path

import pytest
from foveal.benchmarks.structure.cache import kept, source_fingerprint
from foveal.benchmarks.structure.jedi_peer import ask_jedi
from foveal.benchmarks.structure.language_server import IN_FLIGHT, LanguageServer, ServerGone
from foveal.benchmarks.structure.pyright import ask_pyright
from foveal.benchmarks.structure.python_sites import PythonFile, read_file, read_python
from foveal.benchmarks.structure.sampling import may_lead_into, sample
from foveal.benchmarks.structure.sites import Site, Target, Verdict, constructed, last_name
from foveal.benchmarks.structure.typescript import OracleFailed, ask_typescript

SERVER = '''#!{python}
"""A language server that finds a name by its definition: enough to be talked to."""
import json, os, re, sys
from pathlib import Path
from urllib.parse import unquote, urlsplit

stream, texts = sys.stdin.buffer, {{}}

def send(message):
    body = json.dumps({{"jsonrpc": "2.0", **message}}).encode()
    sys.stdout.buffer.write(b"Content-Length: %d\\r\\n\\r\\n%b" % (len(body), body))
    sys.stdout.buffer.flush()

def where(params):
    place = params["position"]
    path = Path(unquote(urlsplit(params["textDocument"]["uri"]).path))
    line = path.read_text().split("\\n")[place["line"]]
    name = re.match(r"\\w+", line[place["character"]:]).group()
    if name == "print":
        return [at(Path(os.__file__), "def ", "makedirs")] if "lost" in line else [at(Path(__file__), "def ", "print")]
    found = [at(each, word, name) for each in sorted(root.rglob("*.py")) for word in ("def ", "class ", "")]
    return [each for each in found if each][:1]

def at(path, word, name):
    for number, line in enumerate(path.read_text().split("\\n")):
        match = re.search(rf"(?:^|\\s){{word}}({{name}})\\b(?={{'[(:]' if word else ' ='}})", line)
        if match:
            start, end = ({{"line": number, "character": each}} for each in match.span(1))
            return {{"uri": path.as_uri(), "range": {{"start": start, "end": end}}}}

while True:
    length = 0
    while (line := stream.readline()) != b"\\r\\n":
        if not line:
            sys.exit()
        if line.lower().startswith(b"content-length"):
            length = int(line.split(b":")[1])
    message = json.loads(stream.read(length))
    method, params = message.get("method"), message.get("params")
    if method == "initialize":
        root = Path(unquote(urlsplit(params["rootUri"]).path))
        send({{"id": 999, "method": "workspace/configuration", "params": {{"items": [{{"section": "python"}}]}}}})
    if method == "end":
        sys.exit()
    if method == "fail":
        send({{"id": message["id"], "error": {{"code": 1, "message": "no"}}}})
    elif method and "id" in message:
        asked = method in ("textDocument/declaration", "textDocument/definition")
        other = None if method.startswith("textDocument") else params
        send({{"id": message["id"], "result": where(params) if asked else other}})

def print(): ...
'''

SHOP = {
    "shop/tax.py": "class Tax:\n    def __init__(self):\n        self.rate = 1\n\n    def of(self, amount):\n"
    "        return amount\n\n\ndef vat(amount):\n    return Tax().of(amount)\n\n\nalias = vat\n",
    "shop/basket.py": "from shop.tax import vat, alias\n\n\ndef total(ways):\n    print(vat(1))\n"
    "    ways()\n    return alias(2)\n",
}


def project(folder: Path, files: dict[str, str]) -> Path:
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    return folder


def tool(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)
    return path


def parsed(text: str) -> PythonFile:
    file = read_file("a.py", text.encode())
    assert file is not None
    return file


def test_each_call_is_found_with_what_stands_before_its_name() -> None:
    def check(text: str, expected: list[tuple[str, str]]) -> None:
        assert [(site.name, site.form) for site in parsed(text).sites] == expected

    check("f()", [("f", "name: builtin or star import")])
    check("def f(): ...\nf()", [("f", "name: function of the file")])
    check("from x import f as g\ng()", [("g", "name: imported name")])
    check("import x.y\nx.y.f()", [("f", "attribute of imported module.")])
    check("import x as z\nz.f()", [("f", "imported module.")])
    check(
        "def f(a, b: int):\n    a.x()\n    b.x()", [("x", "bare parameter."), ("x", "annotated parameter.")]
    )
    check("class C:\n    def m(self):\n        self.n()", [("n", "self.")])
    check("class C:\n    def m(self):\n        self.a.n()", [("n", "self.attribute.")])
    check("class C:\n    @classmethod\n    def m(cls):\n        cls()", [
        ("classmethod", "name: builtin or star import"), ("cls", "name: cls")])  # fmt: skip
    check("super().f()", [("super", "name: builtin or star import"), ("f", "super().")])
    check("x = [1]\nx[0].f()", [("f", "element[].")])
    check("for x in []:\n    x.f()", [("f", "loop variable.")])
    check("[x.f() for x in []]", [("f", "loop variable.")])
    check("a, b = c\na.f()", [("f", "unpacked variable.")])
    check("x = y[0]\nx.f()", [("f", "variable = element.")])
    check("''.join([])", [("join", "literal.")])
    check("(lambda: 1)()\nx[0]()\nf()()", [("f", "name: builtin or star import")])


def test_a_place_counts_utf_16_units_and_stands_at_the_last_name() -> None:
    (site,) = parsed("é = '😀'; (x\n  .y)\n'😀'.join()").sites
    assert (site.line, site.column, site.name) == (3, 5, "join")
    (site,) = parsed("(x\n  .y\n  .z())").sites
    assert (site.line, site.column, site.kind) == (3, 3, "call")


def test_a_decorator_is_a_site_of_its_own_kind() -> None:
    sites = parsed("@a\n@b.c\n@d(1)\ndef f(): ...").sites
    assert [(site.name, site.kind) for site in sites] == [("a", "decorate"), ("c", "decorate"), ("d", "call")]


def test_definitions_are_qualified_and_variables_know_their_value() -> None:
    file = parsed(
        "class A:\n    x = 1\n    def m(self):\n        def inner(): ...\n        y = 2\n\n\nalias = A.m\n"
        "async def run(): ...\n"
    )
    assert {(one.line, one.name, one.kind) for one in file.definitions.values()} == {
        (1, "A", "class"), (2, "A.x", "variable"), (3, "A.m", "function"), (4, "A.m.inner", "function"),
        (8, "alias", "variable"), (9, "run", "function"),
    }  # fmt: skip
    assert file.values == {(8, "alias"): (8, 10)}


def test_what_is_no_python_is_left_out(tmp_path: Path) -> None:
    assert read_file("a.py", b"def f(:") is None
    assert read_file("a.py", b"x = '\xff'") is None
    assert read_file("a.py", b"x = 1\0") is None
    root = project(tmp_path, {"a.py": "f()", "b.pyi": "def f(): ...", "c.pyc": "", "d.py": "def"})
    assert list(read_python(root)) == ["a.py", "b.pyi"]


def test_a_class_is_its_constructor() -> None:
    assert [constructed(name) for name in ("A.__init__", "A.B.__new__", "C.constructor", "__init__", "A.m")] == [
        "A", "A.B", "C", "__init__", "A.m"]  # fmt: skip
    assert (last_name("A.B.__init__"), last_name("f")) == ("B", "f")


def test_a_verdict_accepts_what_the_tool_named_and_what_its_variables_lead_to() -> None:
    def check(verdict: Verdict, name: str, expected: bool) -> None:
        assert verdict.accepts(Target("a.py", 9, name, "function")) is expected

    made = Target("a.py", 1, "A", "class")
    check(Verdict("project", (made,)), "A.__init__", True)
    check(Verdict("project", (made,)), "A.m", False)
    check(Verdict("variable", (), (made,)), "A.__call__", True)
    check(Verdict("variable", (), ()), "A", False)
    check(Verdict("external", (made,)), "A", False)
    assert not Verdict("project", (made,)).accepts(Target("b.py", 1, "A", "class"))


def test_a_sample_has_all_sites_of_a_name_and_is_the_same_in_every_run() -> None:
    text = "".join(f"def f{number}(): ...\nf{number}()\nprint()\nf{number}()\n" for number in range(50))
    files = {"a.py": parsed(text)}
    assert "print" not in may_lead_into(files)
    chosen = sample(files, 20)
    assert chosen == sample(files, 20)
    assert len(chosen) == 20
    assert all(sum(site.name == each.name for site in chosen) == 2 for each in chosen)
    assert len(sample(files)) == 100
    renamed = {"a.py": parsed("from x import f as g\nh.k = g\n\n\ndef m(p): ...")}
    assert may_lead_into(renamed) == {"g", "k", "m", "p"}


def test_what_a_tool_said_is_asked_once(tmp_path: Path) -> None:
    site = Site("a.py", 1, 0, "f", "call", "name: imported name", "f")
    said = {
        site: Verdict("project", (Target("b.py", 2, "f", "function"),), (Target("c.py", 3, "g", "class"),))
    }
    asked = []

    def ask() -> dict[Site, Verdict]:
        asked.append(1)
        return said

    assert [kept(tmp_path / "kept", "a", ask) for _ in range(2)] == [said, said]
    assert len(asked) == 1
    one, other = (tool(tmp_path / name, name) for name in ("one", "other"))
    assert source_fingerprint([one, other]) == source_fingerprint([other, one]) != source_fingerprint([one])


def test_a_language_server_is_asked_many_things_at_once(tmp_path: Path) -> None:
    server = tool(tmp_path / "server", SERVER.format(python=sys.executable))
    sections: list[str] = []
    with LanguageServer([str(server)], tmp_path, sections.append) as talk:
        numbers = list(range(IN_FLIGHT + 7))
        assert talk.call_all("echo", numbers) == numbers
        assert talk.call("fail", 1) is None
        assert sections == ["python"]
        talk.notify("end", {})
        with pytest.raises(ServerGone):
            talk.call("echo", 1)


def test_a_language_server_that_ends_at_once_leaves_nothing_behind(tmp_path: Path) -> None:
    server = tool(tmp_path / "server", "#!/bin/sh\nexec <&-\n")
    with pytest.raises(ServerGone):
        LanguageServer([str(server)], tmp_path, repr)


def test_the_oracle_follows_variables_and_drops_what_is_of_another_name(tmp_path: Path) -> None:
    tool(tmp_path / "bin/basedpyright-langserver", SERVER.format(python=sys.executable))
    root = project(tmp_path / "shop", SHOP | {"shop/lost.py": "def lost(): ...\n\n\nlost(print(1))\n"})
    files = read_python(root)
    sites = [site for file in files.values() for site in file.sites]
    found = ask_pyright(files, sites, tmp_path / "bin/python")
    said = {(site.path, site.name): verdict for site, verdict in found.items()}
    vat = Target("shop/tax.py", 9, "vat", "function")
    assert said["shop/basket.py", "vat"] == Verdict("project", (vat,))
    assert said["shop/basket.py", "alias"].outcome == "variable"
    assert said["shop/basket.py", "alias"].accepts(vat)
    assert said["shop/basket.py", "print"] == Verdict("external")
    assert said["shop/basket.py", "ways"] == Verdict("unknown")
    assert said["shop/lost.py", "print"] == Verdict("unknown")
    assert [one.name for one in said["shop/tax.py", "Tax"].targets] == ["Tax"]


def test_jedi_is_asked_in_its_own_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tool(
        tmp_path / "jedi/jedi/__init__.py",
        "from pathlib import Path\n\n\nclass Name:\n"
        "    def __init__(self, name, path, line, kind, outer=None):\n"
        "        self.name, self.module_path, self.line, self.type, self.outer = name, path, line, kind, outer\n\n"
        "    def parent(self):\n        return self.outer\n\n\n"
        "class Project:\n    def __init__(self, root, added_sys_path):\n        pass\n\n\n"
        "class Script:\n    def __init__(self, path, project):\n        self.path = Path(path)\n\n"
        "    def goto(self, line, column, follow_imports):\n"
        "        if line == 1:\n            raise RecursionError\n"
        "        if line == 2:\n            return [Name('len', None, 1, 'function')]\n"
        "        owner = Name('A', self.path, 1, 'class', Name('m', self.path, 1, 'module'))\n"
        "        return [Name('f', self.path, 4, 'function' if line == 3 else 'param', owner)]\n",
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "jedi"))
    root = project(tmp_path / "project", {"a.py": ""})
    sites = [Site("a.py", line, 0, "f", "call", "", "f") for line in (1, 2, 3, 4)]
    random.Random(1).shuffle(sites)
    found = ask_jedi(root, sites, Path(sys.executable))
    assert [found[site].outcome for site in sorted(sites)] == ["unknown", "external", "project", "variable"]
    assert found[min(sites, key=lambda site: site.line != 3)].targets == (
        Target("a.py", 4, "A.f", "function"),
    )


def test_typescript_is_read_as_its_script_prints_it(tmp_path: Path) -> None:
    row = ["a.ts", 1, 2, "f", "call", "this.", "this.f", "project", [["b.ts", 3, "C.f", "function"]]]
    node = tool(tmp_path / "node", f"#!/bin/sh\ncat <<'END'\n{json.dumps([row])}\nEND\n")
    found = ask_typescript(tmp_path, str(node), tmp_path)
    site = Site("a.ts", 1, 2, "f", "call", "this.", "this.f")
    assert found == {site: Verdict("project", (Target("b.ts", 3, "C.f", "function"),))}
    tool(node, "#!/bin/sh\necho broken >&2\nexit 1\n")
    with pytest.raises(OracleFailed, match="broken"):
        ask_typescript(tmp_path, str(node), tmp_path)
