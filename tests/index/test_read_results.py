"""What is written of a file is what it holds, or why that isn't known."""

from __future__ import annotations

import errno
import os
import shutil

import pytest

from tests.indexer_cases import Bench, check_true, put, skipped, symbols


def test_files_of_secrets_are_not_read_unless_they_may_be_shown(bench: Bench) -> None:
    bench.start({".env": "CANARY=1\n", "conf/credentials.json": "{}\n", "a.py": "def f(): ...\n"})
    assert bench.files_read() == ["a.py"]
    assert (skipped(bench, ".env"), skipped(bench, "a.py")) == ("secret", "")
    with bench.reader() as reader:
        assert reader.chunks.of_paths([".env", "conf/credentials.json"]) == []
    for shown, read in (((".env",), [".env", "a.py"]), ((), ["a.py"])):
        bench.close()
        bench.start(show_files=shown)
        assert sorted(bench.files_read()) == read, "what was kept with other settings is read again"
        with bench.reader() as reader:
            assert [chunk.path for chunk in reader.chunks.of_paths([".env"])] == list(shown)


@pytest.mark.parametrize("number", [errno.EACCES, errno.EIO, errno.EMFILE])
def test_a_file_that_cant_be_read_is_skipped_until_it_can(bench: Bench, number: int) -> None:
    bench.start({"a.py": "def f(): ...\n"})
    path = f"{bench.root}/a.py"
    bench.disk.refused[path] = OSError(number, os.strerror(number), path)
    bench.indexer.reindex(full=True)
    bench.settle()
    assert (skipped(bench, "a.py"), symbols(bench, "a.py")) == ("unreadable", [])
    assert not bench.tree.pending
    bench.disk.refused.clear()
    os.utime(path)  # the same content, which must not count as known
    assert bench.sync().complete
    assert (skipped(bench, "a.py"), symbols(bench, "a.py")) == ("", ["f"])
    check_true(bench)


def test_a_file_that_grows_above_the_limit_while_it_is_read(bench: Bench) -> None:
    put(bench.root, {"a.py": "def f(): ...\n"})
    bench.disk.before_read[f"{bench.root}/a.py"] = lambda: (bench.root / "a.py").write_text(
        "x = 1\n" * 10_000
    )
    bench.start()
    assert (skipped(bench, "a.py"), symbols(bench, "a.py")) == ("too_large", [])
    put(bench.root, {"a.py": "def f(): ...\n"})
    assert bench.sync().complete
    assert (skipped(bench, "a.py"), symbols(bench, "a.py")) == ("", ["f"])
    check_true(bench)


def test_former_contents_answer_while_files_are_read_again(bench: Bench) -> None:
    bench.start({f"f{n}.py": f"def f{n}(): ...\n" for n in range(6)})
    bench.indexer.reindex(full=True)
    while bench.work():
        assert bench.tree.pending == 0


def test_a_file_that_vanishes_between_listing_and_reading(bench: Bench) -> None:
    put(bench.root, {"a.py": "x = 1\n", "b.py": "def f(): ...\n", "sub/c.py": ""})
    bench.disk.before_read[f"{bench.root}/a.py"] = (bench.root / "a.py").unlink
    bench.disk.before_read[f"{bench.root}/sub/c.py"] = lambda: shutil.rmtree(bench.root / "sub")
    bench.start()
    assert bench.state == "ready"
    assert bench.sync().complete
    assert set(bench.tree.files) == {"b.py"}
    check_true(bench)
