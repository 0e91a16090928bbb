"""An index that can't be opened is set aside and built anew."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest
from foveal.daemon.index.store import FILE_NAME

from tests.indexer_cases import Bench, check_true, put


def damage(path: Path, how: str) -> None:
    data = bytearray(path.read_bytes())
    if how == "empty":
        data.clear()
    elif how == "truncated":
        del data[len(data) // 2 :]
    elif how == "garbage":
        data = bytearray(random.Random(1).randbytes(len(data)))
    else:
        offset = int(how)
        data[offset : offset + 64] = bytes(byte ^ 0xFF for byte in data[offset : offset + 64])
    path.write_bytes(data)


@pytest.mark.parametrize("how", ["empty", "truncated", "garbage", "0", "16", "100", "4096", "8192", "12288"])
def test_a_damaged_index_is_set_aside_and_built_anew(bench: Bench, how: str) -> None:
    bench.start({f"f{n}.py": f"import f{n + 1}\n\ndef f{n}(): ...\n" for n in range(60)})
    generation = bench.indexer.generation
    bench.close()
    for suffix in ("-wal", "-shm"):
        Path(f"{bench.folder / FILE_NAME}{suffix}").unlink(missing_ok=True)
    damage(bench.folder / FILE_NAME, how)
    bench.start()
    assert bench.state == "ready"
    check_true(bench)
    aside = [name for name in os.listdir(bench.folder) if "damaged" in name]
    if how != "empty":
        assert aside, "it is kept"
        assert min(aside, key=len) in bench.progress.degraded[0]
        assert bench.indexer.generation > generation


def test_an_index_that_is_no_file_is_set_aside(bench: Bench) -> None:
    put(bench.root, {"a.py": ""})
    (bench.folder / FILE_NAME).mkdir(parents=True)
    bench.start()
    assert set(bench.tree.files) == {"a.py"}
    assert FILE_NAME in bench.progress.degraded[0]
