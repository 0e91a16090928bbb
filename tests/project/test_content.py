"""Files are read once, inside the root only, and what was shown is known to hold or not to hold any more."""

from __future__ import annotations

import codecs
import os
from pathlib import Path

import pytest
from foveal.daemon.context.built import all_hold
from foveal.daemon.core.system import RACY_NS, System
from foveal.daemon.privacy.policy import Policy
from foveal.daemon.project.content import (
    Content,
    ContentReader,
    Shown,
    decode,
    digest_of,
)
from hypothesis import given
from hypothesis import strategies as st


class FrozenSystem(System):
    """A clock that stands still, and reads that can be counted, refused, or followed by a change."""

    def __init__(self, now_ns: int) -> None:
        self.now_ns = now_ns
        self.reads: list[str] = []
        self.error: OSError | None = None

    def time_ns(self) -> int:
        return self.now_ns

    def read(self, path: str, limit: int | None = None) -> tuple[bytes, os.stat_result]:
        self.reads.append(path)
        if self.error is not None:
            raise self.error
        found = super().read(path, limit)
        self.now_ns += 10 * RACY_NS  # reading takes its time
        return found


def write(path: Path, data: bytes, *, mtime_ns: int = 1_700_000_000_000_000_000) -> None:
    path.write_bytes(data)
    os.utime(path, ns=(mtime_ns, mtime_ns))


def reader_of(
    root: Path, *, limit: int = 1_000, overlays: dict[str, str] | None = None, system: System | None = None
) -> ContentReader:
    return ContentReader(os.path.realpath(root), system or System(), limit, overlays or {})


def shown_of(content: Content) -> Shown:
    assert content.shown is not None
    return content.shown


def test_a_file_is_read_once_with_what_proves_it(tmp_path: Path) -> None:
    write(tmp_path / "a.py", b"x = 1\n")
    system = FrozenSystem(2_000_000_000_000_000_000)
    reader = reader_of(tmp_path, system=system)
    content = reader.read("a.py")
    assert reader.read("a.py") is content
    assert len(system.reads) == 1
    assert (content.text, content.problem, content.cut) == ("x = 1\n", "", False)
    shown = shown_of(content)
    assert shown.path == os.path.join(os.path.realpath(tmp_path), "a.py")
    assert (shown.digest, shown.length, shown.racy) == (digest_of(b"x = 1\n"), 6, False)


def test_a_large_file_is_cut_and_says_so(tmp_path: Path) -> None:
    write(tmp_path / "a.txt", b"x" * 11)
    content = reader_of(tmp_path, limit=10).read("a.txt")
    assert (content.text, content.cut) == ("x" * 10, True)
    write(tmp_path / "b.txt", b"x" * 10)
    assert not reader_of(tmp_path, limit=10).read("b.txt").cut


@pytest.mark.parametrize(
    ("data", "problem"),
    [(b"a\0b", "it is binary"), (b"", ""), (b"\xff\xfea\0", ""), (b"x" * 9_000 + b"\0", "")],
)
def test_binary_files_have_no_text(tmp_path: Path, data: bytes, problem: str) -> None:
    write(tmp_path / "f", data)
    content = reader_of(tmp_path, limit=10_000).read("f")
    assert content.problem == problem
    assert shown_of(content).length == len(data)
    assert not problem or content.text == ""


def test_what_can_not_be_read_says_why_in_words(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "dangling").symlink_to("nothing")
    reader = reader_of(tmp_path)
    for path, words in {
        "gone": "No such file",
        "folder": "Is a directory",
        "pipe": "not a regular file",
        "loop": "symbolic link",
        "dangling": "No such file",
        "a\0b": "NUL",
        "x" * 5_000: "too long",
    }.items():
        content = reader.read(path)
        assert content.shown is None
        assert content.text == ""
        assert words in content.problem


def test_nothing_outside_of_the_root_is_read(tmp_path: Path) -> None:
    root = tmp_path / "project"
    root.mkdir()
    write(tmp_path / "secret", b"s3cret")
    write(tmp_path / "project-secret", b"s3cret")
    (root / "link").symlink_to(tmp_path / "secret")
    (root / "folder").symlink_to(tmp_path)
    (root / "inside").symlink_to("real")
    write(root / "real", b"fine")
    system = FrozenSystem(0)
    reader = reader_of(root, system=system)
    outside = [
        "link",
        "folder/secret",
        "../secret",
        "../project-secret",
        str(tmp_path / "secret"),
        "/etc/passwd",
    ]
    for path in outside:
        content = reader.read(path)
        assert (content.text, content.shown) == ("", None)
        assert "leads out of the project" in content.problem or path.startswith("/")
    assert system.reads == []
    assert reader.read("inside").text == "fine"


def test_an_unsaved_buffer_stands_in_for_its_file(tmp_path: Path) -> None:
    write(tmp_path / "a.py", b"saved")
    reader = reader_of(tmp_path, overlays={"a.py": "unsaved", "new.py": "never saved"}, limit=7)
    content = reader.read("a.py")
    assert content.text == "unsaved"
    assert shown_of(content).digest == digest_of(b"saved")
    assert (reader.unsaved("a.py"), reader.unsaved("b.py")) == (True, False)
    new = reader.read("new.py")
    assert (new.text, new.shown, new.problem, new.cut) == ("never s", None, "", True)


# Whether it still holds


def test_an_unchanged_file_holds_by_a_stat_alone(tmp_path: Path) -> None:
    write(tmp_path / "a", b"x")
    system = FrozenSystem(2_000_000_000_000_000_000)
    shown = shown_of(reader_of(tmp_path, system=system).read("a"))
    system.reads.clear()
    assert all_hold((shown,), system)
    assert system.reads == []


def test_a_changed_a_replaced_and_a_missing_file_do_not_hold(tmp_path: Path) -> None:
    path = tmp_path / "a"
    write(path, b"x")
    shown = shown_of(reader_of(tmp_path).read("a"))
    write(path, b"yy")
    assert not all_hold((shown,), System())
    write(tmp_path / "b", b"x")
    os.replace(tmp_path / "b", path)
    assert not all_hold((shown,), System())
    path.unlink()
    assert not all_hold((shown,), System())


def test_a_file_modified_just_before_it_was_read_is_compared_by_its_content(tmp_path: Path) -> None:
    path = tmp_path / "a"
    write(path, b"old")
    system = FrozenSystem(path.stat().st_mtime_ns + RACY_NS - 1)
    shown = shown_of(reader_of(tmp_path, system=system).read("a"))
    assert shown.racy
    assert all_hold((shown,), system)
    # The same size and the same times, as when both writes fall into one tick of the clock.
    changed = Shown(shown.path, shown.stamp, digest_of(b"new"), shown.length, racy=True)
    assert not all_hold((changed,), system)
    system.error = OSError("gone bad")
    assert not all_hold((shown,), system)


def test_a_large_racy_file_is_compared_as_far_as_it_was_read(tmp_path: Path) -> None:
    write(tmp_path / "a", b"x" * 100)
    system = FrozenSystem((tmp_path / "a").stat().st_mtime_ns)
    shown = shown_of(reader_of(tmp_path, limit=10, system=system).read("a"))
    assert (shown.length, shown.racy) == (11, True)
    assert all_hold((shown,), system)


# Decoding


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", ""),
        ("größe".encode(), "größe"),
        (codecs.BOM_UTF8 + b"x", "x"),
        ("größe".encode("utf-16"), "größe"),
        (codecs.BOM_UTF16_BE + "é".encode("utf-16-be"), "é"),
        (codecs.BOM_UTF32_LE + "é".encode("utf-32-le"), "é"),
        (codecs.BOM_UTF32_BE + "é".encode("utf-32-be"), "é"),
        ("café".encode("latin-1"), "café"),
        ("café au lait".encode("latin-1"), "café au lait"),
        ("été.\n".encode("latin-1"), "été.\n"),
        (b"a\xff\xfe", "aÿþ"),
    ],
)
def test_text_is_decoded_whole(data: bytes, text: str) -> None:
    assert decode(data) == text


@given(st.text(st.characters(exclude_categories=["Cs"])), st.integers(0, 3))
def test_a_character_that_the_limit_cut_in_two_is_left_out(text: str, less: int) -> None:
    data = text.encode()
    beginning = data[: max(len(data) - less, 0)]
    if beginning.startswith((codecs.BOM_UTF8, codecs.BOM_UTF16_LE)):
        return
    decoded = decode(beginning, cut=True)
    assert text.startswith(decoded)
    assert len(text) - len(decoded) <= less


@given(st.binary(max_size=40), st.booleans())
def test_any_bytes_have_a_text_that_can_be_sent(data: bytes, cut: bool) -> None:
    assert isinstance(decode(data, cut=cut).encode(), bytes)


TOKEN = "ghp_" + "a1B2c3D4e5" * 4


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        (".env", "hold secrets"),
        ("conf/.ENV", "hold secrets"),
        ("link.txt", "it is a symlink to a file that isn't shown"),
        ("closed/a.py", "[agents.x]"),
        ("CLOSED/a.py", "[agents.x]"),
        ("open.py", "it is a symlink to a file that isn't shown"),
        ("folder/a.py", "it is a symlink to a file that isn't shown"),
        ("nowhere/closed.py", "can't be read"),
    ],
)
def test_what_a_policy_hides_is_not_read_under_any_name(tmp_path: Path, path: str, reason: str) -> None:
    for name in (".env", "conf/.ENV", "closed/a.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("canary")
    (tmp_path / "link.txt").symlink_to(".env")
    (tmp_path / "open.py").symlink_to("closed/a.py")
    (tmp_path / "folder").symlink_to("closed")
    policy = Policy("x", ("[agents.x] in foveal.toml",), deny_paths=("closed/**",))
    overlays = {".env": "canary", "closed/a.py": "canary"}
    found = ContentReader(str(tmp_path), System(), 100, overlays, policy).read(path)
    assert (found.text, found.shown) == ("", None)
    assert reason in found.problem
    assert found.hidden is ("can't be read" not in reason)
    assert "closed/a.py" not in found.problem


def test_secrets_are_masked_in_files_and_unsaved_texts_and_the_proof_is_of_the_file(tmp_path: Path) -> None:
    text = f'a = 1\nkey = "{TOKEN}"\nb = 2\n'
    (tmp_path / "a.py").write_text(text)
    (tmp_path / "b.py").write_text("plain\n")
    reader = ContentReader(str(tmp_path), System(), 1_000, {"u.py": text})
    masked = 'a = 1\nkey = "[masked]32+"\nb = 2\n'
    found = reader.read("a.py")
    assert (found.text, found.masked) == (masked, True)
    assert found.shown is not None
    assert found.shown.digest == digest_of(text.encode())
    assert (reader.read("u.py").text, reader.read("u.py").masked) == (masked, True)
    assert (reader.read("b.py").text, reader.read("b.py").masked) == ("plain\n", False)
    unmasked = ContentReader(str(tmp_path), System(), 1_000, {}, Policy(mask_values=False))
    assert unmasked.read("a.py").text == text


def test_a_file_elsewhere_is_read_from_allowed_folders_only(tmp_path: Path) -> None:
    root, notes, other = (tmp_path / name for name in ("root", "notes", "other"))
    for folder in (root, notes / ".git", other):
        folder.mkdir(parents=True)
    for path in (notes / "spec.md", notes / ".env", notes / ".git/config", other / "a.md", root / "in.md"):
        path.write_text("text")
    os.symlink(other / "a.md", notes / "link.md")
    reader = ContentReader(str(root), System(), 1_000, {}, outside=[str(notes), "relative"])
    assert reader.read(str(notes / "spec.md")).text == "text"
    for path, problem in (
        (notes / ".env", "secrets"),
        (notes / ".git/config", "belongs to git"),
        (notes / "link.md", "outside of the project"),
        (other / "a.md", "outside of the project"),
        (notes / "../other/a.md", "outside of the project"),
    ):
        found = reader.read(str(path))
        assert found.text == ""
        assert problem in found.problem
    nothing = ContentReader(str(root), System(), 1_000, {})
    assert "outside of the project" in nothing.read(str(notes / "spec.md")).problem


def test_a_content_that_is_known_as_clean_says_nothing_of_another(tmp_path: Path) -> None:
    secret = f'key = "ghp_{"a1B2c3D4e5" * 4}"\n'
    clean = "a = 1  # as clean as can be\n"
    write(tmp_path / "a.py", clean.encode())
    for _ in range(2):  # looked through, then known
        found = ContentReader(str(tmp_path), System(), 1_000, {}).read("a.py")
        assert (found.text, found.masked) == (clean, False)
    unsaved = ContentReader(str(tmp_path), System(), 1_000, {"a.py": clean + secret}).read("a.py")
    assert (unsaved.text, unsaved.masked) == (clean + 'key = "[masked]32+"\n', True)
    write(tmp_path / "a.py", (clean + secret).encode())
    found = ContentReader(str(tmp_path), System(), 1_000, {}).read("a.py")
    assert (found.text, found.masked) == (clean + 'key = "[masked]32+"\n', True)
