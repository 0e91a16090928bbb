"""Numbers, times and places are written as people read them, and nothing from outside becomes markup."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from foveal.dashboard import formats
from foveal.dashboard.view import _templates


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (formats.number(12345), "12,345"),
        (formats.short(950), "950"),
        (formats.short(12_345), "12.3k"),
        (formats.short(4_560_000), "4.56M"),
        (formats.short(999_600), "1M"),
        (formats.size(999_960), "1.0 MB"),
        (formats.size(1_999_960_000_000), "2.0 TB"),
        (formats.milliseconds(999.7), "1.0 s"),
        (formats.share(0.934), "93 %"),
        (formats.size(1_250_000), "1.2 MB"),
        (formats.milliseconds(0.213), "0.21 ms"),
        (formats.milliseconds(35.4), "35 ms"),
        (formats.milliseconds(75_000), "1 min 15 s"),
        (formats.duration(3 * 86_400 + 4 * 3_600 + 59), "3 d 4 h"),
        (formats.count(1, "file"), "1 file"),
        (formats.count(2, "entry", "entries"), "2 entries"),
    ],
)
def test_figures(written: str, expected: str) -> None:
    assert written == expected


def test_a_moment_reads_as_the_time_since_in_its_largest_unit() -> None:
    now = datetime(2026, 3, 9, 12, tzinfo=UTC)
    said = {59: "just now", 60: "1 min ago", 7_199: "1 h ago", 172_800: "2 d ago", -5: "just now"}
    said |= {7 * 86_400: "2 Mar", 70 * 86_400: "29 Dec 2025"}
    for seconds, expected in said.items():
        assert formats.since(now - timedelta(seconds=seconds), now) == expected
    assert 'title="2026-03-09 12:00:00 UTC" data-ago>' in formats.ago(now.isoformat())


@pytest.mark.parametrize("at", ["<script>", "yesterday", 1e300])
def test_a_moment_that_is_none_is_shown_escaped(at: str | float) -> None:
    assert "<script>" not in formats.moment(at)


def test_a_path_may_break_behind_its_slashes_and_is_escaped() -> None:
    assert formats.breakable("src/<b>/a.py") == "src/<wbr>&lt;b&gt;/<wbr>a.py"


@pytest.mark.parametrize(
    ("template", "path", "expected"),
    [
        ("vscode://file{path}:{line}", "a b.py", "vscode://file/p/a%20b.py:7"),
        ("idea://open?file={path}&line={line}", "a&b=#?.py", "idea://open?file=/p/a%26b%3D%23%3F.py&line=7"),
        ("zed://file{path}", "{line}.py", "zed://file/p/%7Bline%7D.py"),
        ("zed://file{path}", "/other/a.py", "zed://file/other/a.py"),
        ("zed://file{path}", 'x"><script>.py', "zed://file/p/x%22%3E%3Cscript%3E.py"),
        ("", "a.py", ""),
    ],
)
def test_a_path_is_filled_into_an_editors_address(template: str, path: str, expected: str) -> None:
    assert formats.editor_href(template, "/p", path, 7) == expected


def test_a_template_prints_a_dash_for_what_is_not_known() -> None:
    assert (
        _templates().from_string("{{ known }}{{ unknown }}").render(known=0, unknown=None)
        == f"0{formats.NOTHING}"
    )
