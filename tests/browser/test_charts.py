"""Charts are drawn from their tables: values at the pointer, a range in the address, keys, and no script needed."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

import pytest
from foveal.daemon.core.metric_history import (
    FILE,
    ContextCost,
    Gauges,
    Metrics,
    Sample,
    SampleFile,
    sample_between,
)
from foveal.daemon.core.system import System
from playwright.sync_api import Browser, Page, expect

from tests.browser_cases import Site, signed_in

CHART = "#chart-memory"


@pytest.fixture(scope="module", autouse=True)
def samples(site: Site) -> None:
    """Leave the daemon the samples of an earlier start: of its own it would take the first after 10 s."""
    site.daemon.state.mkdir(mode=0o700)
    system, file = System(), SampleFile(str(site.daemon.state / FILE), System())
    taken = [sample_at(system.now() - timedelta(seconds=10 * ago), ago) for ago in range(6, 0, -1)]
    file.write("hour", taken, 0)
    file.close()


def sample_at(moment: datetime, number: int) -> Sample:
    """Make a sample whose values differ by its number."""
    memory = {"daemon": (100 + number) << 20, "indexer": (60 + number) << 20, "embedder": None}
    gauges = Gauges(files_pending=number, memory_bytes=memory)
    nothing, some = Metrics(), Metrics()
    if number in (2, 5):
        some.context_given(ContextCost("sam", 10, 20, cached=True))
    return sample_between(nothing, some, moment.isoformat(), 10.0, gauges)


def rows(page: Page) -> int:
    return page.locator(f"{CHART} tbody tr").count()


def box_of(page: Page) -> tuple[float, float, float]:
    """Return the left edge, the middle and the width of the drawing itself."""
    page.locator(CHART).scroll_into_view_if_needed()
    box = page.locator(f"{CHART} .u-over").bounding_box()
    assert box is not None
    return box["x"], box["y"] + box["height"] / 2, box["width"]


def test_the_pointer_shows_the_values_of_a_moment_in_all_charts(page: Page, site: Site) -> None:
    page.goto(f"{site.address}/diagnostics")
    expect(page.locator(f"{CHART} canvas")).to_be_visible()
    first = page.locator(f"{CHART} tbody tr").last.locator("td").first.text_content() or ""
    left, middle, _ = box_of(page)
    page.mouse.move(left + 2, middle)
    expect(page.locator(f"{CHART} .when")).not_to_be_empty()
    expect(page.locator(f"{CHART} .legend b").first).to_have_text(first)
    expect(page.locator("#chart-queue .when")).not_to_be_empty()


def test_a_brushed_range_is_in_the_address_and_can_be_left(page: Page, site: Site) -> None:
    page.goto(f"{site.address}/diagnostics")
    expect(page.locator(f"{CHART} canvas")).to_be_visible()
    before = rows(page)
    left, middle, width = box_of(page)
    page.mouse.move(left + width * 0.4, middle)
    page.mouse.down()
    page.mouse.move(left + width * 0.7, middle)
    page.mouse.move(left + width - 2, middle)
    page.mouse.up()
    page.wait_for_url(re.compile("since=.*until="))
    expect(page.locator("#range")).to_contain_text("Show all")
    expect(page.locator(f"{CHART} tbody tr")).not_to_have_count(before)
    kept = rows(page)
    page.reload()
    assert rows(page) == kept
    page.get_by_role("link", name="Show all").click()
    page.wait_for_url(lambda url: "since" not in url)
    assert rows(page) >= before


def test_no_line_is_drawn_across_samples_without_a_value(page: Page, site: Site) -> None:
    page.goto(f"{site.address}/diagnostics")
    drawn = """([chart, hue]) => {
        const canvas = document.querySelector(`${chart} canvas`);
        const probe = document.body.appendChild(Object.assign(document.createElement("i"), {className: "probe"}));
        probe.style.color = getComputedStyle(document.documentElement).getPropertyValue(hue);
        const wanted = getComputedStyle(probe).color.match(/[0-9]+/g).slice(0, 3).map(Number);
        const { width, height } = canvas;
        const data = canvas.getContext("2d").getImageData(0, 0, width, height).data;
        const columns = [...Array(width).keys()].filter((x) => [...Array(height).keys()].some((y) =>
            data[4 * (y * width + x) + 3] > 200 && wanted.every((of, at) => Math.abs(data[4 * (y * width + x) + at] - of) < 12)));
        return columns.length / width;
    }"""
    expect(page.locator("#chart-cache canvas")).to_be_visible()
    assert page.evaluate(drawn, [CHART, "--hue-1"]) > 0.5, "a line with a value at each sample"
    assert 0 < page.evaluate(drawn, ["#chart-cache", "--hue-1"]) < 0.1, "two marks"


def test_without_a_script_the_same_figures_are_in_tables(browser: Browser, site: Site) -> None:
    with signed_in(browser, site, java_script_enabled=False) as page:
        page.goto(f"{site.address}/diagnostics")
        page.locator(f"{CHART} summary").click()
        expect(page.locator(f"{CHART} tbody tr").first).to_contain_text("MB")
        assert rows(page) >= 3
        expect(page.locator(f"{CHART} .plot")).to_be_hidden()
