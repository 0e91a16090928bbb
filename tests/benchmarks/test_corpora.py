"""A corpus is the archive that was pinned or nothing, and unpacking it writes files below its folder only."""

from __future__ import annotations

import dataclasses
import io
import json
import tarfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from foveal.benchmarks.retrieval import corpora
from foveal.benchmarks.retrieval.corpora import (
    Corpus,
    CorpusError,
    files_of,
    provide,
    read_corpora,
    sha256_of,
    unpack,
)

KINDS = ("semantic", "architecture", "symbol", "task", "bug")

Member = tuple[str, bytes | str]
"""A file's path and content, or a link's path and what it points to."""


def pack(path: Path, members: list[Member], mode: str = "w:gz") -> Path:
    with tarfile.open(path, mode) as tar:  # type: ignore[call-overload]  # mode is any string here
        for name, content in members:
            info = tarfile.TarInfo(name)
            if isinstance(content, bytes):
                info.size = len(content)
                tar.addfile(info, io.BytesIO(content))
            else:
                info.type, info.linkname = tarfile.SYMTYPE, content
                tar.addfile(info)
    return path


def pinned(archive: Path, **changes: object) -> Corpus:
    corpus = Corpus("thing", "pypi", "Thing", "1.0", sha256_of(archive), "python", "tune")
    return dataclasses.replace(corpus, **changes)  # type: ignore[arg-type]


@pytest.fixture
def no_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    def fetch(corpus: Corpus, folder: Path) -> None:
        raise CorpusError(f"{corpus.name} was to be fetched")

    monkeypatch.setattr(corpora, "REGISTRIES", dict.fromkeys(corpora.REGISTRIES, fetch))


def registry(monkeypatch: pytest.MonkeyPatch, fetch: Callable[[Path], object]) -> list[str]:
    calls = []

    def run(corpus: Corpus, folder: Path) -> None:
        calls.append(corpus.name)
        fetch(folder)

    monkeypatch.setattr(corpora, "REGISTRIES", dict.fromkeys(corpora.REGISTRIES, run))
    return calls


def test_the_one_folder_of_an_archive_is_taken_off(tmp_path: Path) -> None:
    def check(
        mode: str, members: list[Member], leave_out: tuple[str, ...], expected: dict[str, bytes]
    ) -> None:
        target = tmp_path / f"{len(list(tmp_path.iterdir()))}"
        unpack(pack(tmp_path / "archive", members, mode), target, leave_out)
        assert {path: (target / path).read_bytes() for path in files_of(target)} == expected

    check("w:gz", [("a-1/x.py", b"x"), ("a-1/b/y.py", b"y")], (), {"x.py": b"x", "b/y.py": b"y"})
    check("w:xz", [("./package/x.js", b"x")], (), {"x.js": b"x"})
    check("w:gz", [("a/x", b"old"), ("a/x", b"new")], (), {"x": b"new"})
    check("w:gz", [("a/dist/x.js", b"x"), ("a/dist.js", b"y")], ("dist",), {"dist.js": b"y"})
    check("w:gz", [("a/b/c/x", b"x"), ("a/c/x", b"y")], ("b/c",), {"c/x": b"y"})
    check("w:gz", [("x", b"beside the folder")], (), {})


def test_no_link_is_written(tmp_path: Path) -> None:
    members: list[Member] = [
        ("a/out", "/etc"),
        ("a/up", "../.."),
        ("a/in", "x"),
        ("a/up/x", b"x"),
        ("a/x", b"y"),
    ]
    unpack(pack(tmp_path / "archive", members), tmp_path / "target")
    assert sorted(files_of(tmp_path / "target")) == ["up/x", "x"]
    assert not any(path.is_symlink() for path in (tmp_path / "target").rglob("*"))


def test_an_archive_that_leaves_its_folder_is_refused(tmp_path: Path) -> None:
    def check(name: str) -> None:
        archive = pack(tmp_path / "archive", [("a/x", b"x"), (name, b"y")])
        target = tmp_path / f"{len(list(tmp_path.iterdir()))}"
        with pytest.raises(CorpusError, match="outside of its folder"):
            unpack(archive, target)
        assert set(files_of(tmp_path)) <= {"archive", *(f"{n}/x" for n in range(9))}

    check("/etc/passwd")
    check("../x")
    check("a/../../x")
    check("a/b/..")
    check("a\\..\\..\\x")


def test_damage_and_size_refuse_an_archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def check(archive: Path, message: str) -> None:
        target = tmp_path / f"{len(list(tmp_path.iterdir()))}"
        with pytest.raises(CorpusError, match=message):
            unpack(archive, target)

    whole = pack(tmp_path / "whole", [("a/x", bytes(range(256)) * 999), ("a/y", b"y")])
    torn = tmp_path / "torn"
    torn.write_bytes(whole.read_bytes()[: whole.stat().st_size // 2])
    check(torn, "can't be unpacked")
    torn.write_bytes(b"<html>not found</html>")
    check(torn, "can't be unpacked")
    check(pack(tmp_path / "clash", [("a/x", b"x"), ("a/x/y", b"y")]), "can't be unpacked")
    monkeypatch.setattr(corpora, "MAX_MEMBERS", 1)
    check(whole, "more than it should")
    monkeypatch.setattr(corpora, "MAX_MEMBERS", 2)
    monkeypatch.setattr(corpora, "MAX_BYTES", 256 * 999)
    check(whole, "more than it should")


def test_what_is_there_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = pinned(pack(tmp_path / "kept", [("a/x", b"x"), ("a/dist/y", b"y")]))
    calls = registry(monkeypatch, lambda folder: pack(folder / "thing-1.0.tar.gz", [("a/x", b"other")]))
    (tmp_path / "home" / ".archives").mkdir(parents=True)
    (tmp_path / "kept").rename(tmp_path / "home" / ".archives" / "by-hand.tgz")

    def check(corpus: Corpus, expected: list[str]) -> None:
        assert sorted(files_of(provide(corpus, tmp_path / "home"))) == expected
        assert calls == []

    check(corpus, ["dist/y", "x"])
    (tmp_path / "home" / "thing" / "mine").write_bytes(b"")
    check(corpus, ["dist/y", "mine", "x"])  # not unpacked again
    check(dataclasses.replace(corpus, leave_out=("dist",)), ["x"])  # another pin is
    (tmp_path / "home" / ".archives" / "thing.unpacked").unlink()
    (tmp_path / "home" / "thing" / "mine").write_bytes(b"")
    check(dataclasses.replace(corpus, leave_out=("dist",)), ["x"])  # so is a folder nobody vouches for


def test_an_archive_is_fetched_once_and_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    good = pack(tmp_path / "good", [("a/x", b"x")])
    calls = registry(monkeypatch, lambda folder: (folder / "thing.tgz").write_bytes(good.read_bytes()))
    home = tmp_path / "home"
    for _ in range(2):
        assert list(files_of(provide(pinned(good), home))) == ["x"]
    (home / ".archives" / "thing.unpacked").unlink()
    assert list(files_of(provide(pinned(good), home))) == ["x"]
    assert calls == ["thing"]

    def check(fetch: Callable[[Path], object], message: str) -> None:
        registry(monkeypatch, fetch)
        with pytest.raises(CorpusError, match=message):
            provide(pinned(good, name="other", sha256="0" * 64), home)
        assert not (home / "other").exists()

    check(lambda folder: pack(folder / "thing.tgz", [("a/x", b"x")]), "not the 0000")
    check(lambda folder: (folder / "log.txt").write_bytes(b""), "fetched nothing")
    check(lambda folder: [pack(folder / f"{n}.tar.xz", []) for n in "ab"], "a.tar.xz")


@pytest.mark.usefixtures("no_registry")
def test_a_corpus_that_cannot_be_had_does_not_hide_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / ".archives").mkdir()
    there = pinned(pack(tmp_path / ".archives" / "there", [("a/x", b"x")]))
    monkeypatch.setattr(
        corpora, "read_corpora", lambda: [dataclasses.replace(there, name="gone", sha256="1" * 64), there]
    )
    assert corpora.main([str(tmp_path)]) == 1
    output = capsys.readouterr()
    assert "gone was to be fetched" in output.err
    assert output.out.endswith("Thing 1.0: 1 files\n")
    assert corpora.main([str(tmp_path), "thing"]) == 0
    with pytest.raises(SystemExit):
        corpora.main([str(tmp_path), "nothing"])
    assert "no such corpus: nothing" in capsys.readouterr().err


def test_a_pin_that_is_not_one_is_refused(tmp_path: Path) -> None:
    good = {
        "name": "thing",
        "registry": "npm",
        "package": "@scope/thing",
        "version": "1.0.0-rc.1",
        "sha256": "a" * 64,
        "language": "go",
        "split": "tune",
    }

    def check(changes: dict[str, str], message: str | None, copies: int = 1) -> None:
        lines = [f"{key} = '{value}'" for key, value in {**good, **changes}.items() if value]
        (tmp_path / "list.toml").write_text("\n".join(["[[corpus]]", *lines] * copies))
        if message is None:
            assert [corpus.name for corpus in read_corpora(tmp_path / "list.toml")] == ["thing"]
        else:
            with pytest.raises(ValueError, match=message):
                read_corpora(tmp_path / "list.toml")

    check({}, None)
    check({"name": "../thing"}, "name can't be")
    check({"name": ".archives"}, "name can't be")
    check({"package": "--registry=x"}, "package can't be")
    check({"version": "git+ssh"}, "version can't be")
    check({"version": "1.0 --index-url=x"}, "version can't be")
    check({"sha256": "A" * 64}, "sha256 can't be")
    check({"registry": "cpan"}, "registry must be one of pypi, npm, debian")
    check({"split": "test"}, "split must be one of")
    check({"split": ""}, "split")
    check({"colour": "red"}, "colour")
    check({}, "stands twice", copies=2)


def test_the_list_is_balanced() -> None:
    corpora = read_corpora()
    languages = {
        split: {each.language for each in corpora if each.split == split} for split in ("tune", "held_out")
    }
    assert len(corpora) == 12
    assert [len(languages[split]) for split in languages] == [6, 6]
    assert {"python", "typescript"} <= languages["tune"] & languages["held_out"]
    assert len(languages["tune"] | languages["held_out"]) >= 8


def test_the_questions_ask_about_the_corpora() -> None:
    lines = (corpora.LIST.parent / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    questions = [json.loads(line) for line in lines]
    pins = {corpus.name: corpus for corpus in read_corpora()}
    assert len(questions) >= 240
    assert len({question["id"] for question in questions}) == len(questions)
    assert len({question["question"] for question in questions}) == len(questions)
    for question in questions:
        assert set(question) == {"id", "corpus", "language", "kind", "question", "relevant"}
        assert question["id"].startswith(f"{question['corpus']}-")
        assert question["language"] == pins[question["corpus"]].language
        assert max(question["relevant"].values()) == 2
        assert set(question["relevant"].values()) <= {1, 2}
        leave_out = pins[question["corpus"]].leave_out
        assert not any(path.startswith(f"{folder}/") for path in question["relevant"] for folder in leave_out)
    kinds = Counter((pins[question["corpus"]].split, question["kind"]) for question in questions)
    expected = {(split, kind) for split in ("tune", "held_out") for kind in KINDS}
    assert set(kinds) == expected
    assert min(kinds.values()) >= 24
