"""The figures of a benchmark: percentiles, verdicts and ratios are right, and the table says them."""

from __future__ import annotations

import json

import pytest
from foveal.benchmarks.fit import power_law
from foveal.benchmarks.growth import curves
from foveal.benchmarks.machine import Machine
from foveal.benchmarks.statistics import Measure, table


def test_a_target_bounds_the_quantile_that_it_names() -> None:
    samples = [1.0] * 98 + [9.0, 9.0]
    assert Measure("median", samples=samples, target=2.0).met is True
    assert Measure("tail", samples=samples, target=2.0, which="p99").met is False
    assert Measure("tail", samples=samples, target=9.0, which="p99").met is True


def test_a_rate_has_to_reach_its_target() -> None:
    assert Measure("rate", "a second", [8_000.0], target=8_000, least=True).met is True
    assert Measure("rate", "a second", [7_999.0], target=8_000, least=True).met is False


def test_a_run_that_is_too_small_is_no_verdict() -> None:
    assert Measure("time", samples=[1.0], target=0.5, judged=False).met is None
    assert Measure("time", samples=[1.0]).met is None


def test_the_ratio_is_of_the_same_quantile() -> None:
    base = Measure("bare", samples=[1.0] * 98 + [4.0] * 2)
    samples = [2.0] * 98 + [20.0] * 2
    assert Measure("ours", samples=samples, baseline=base).ratio == pytest.approx(2)
    assert Measure("ours", samples=samples, which="p99", baseline=base).ratio == pytest.approx(5)
    assert Measure("ours", samples=samples).ratio is None
    assert Measure("ours", samples=samples, baseline=Measure("never run")).ratio is None


def test_the_table_has_the_columns_that_a_line_fills() -> None:
    plain = Measure("bare", samples=[1.0, 2.0, 3.0])
    assert table([plain]).splitlines() == [
        "| measure | this run | P50 | P99 | max | unit | n |",
        "|---|---|---|---|---|---|---|",
        "| bare | 2.00 | 2.00 | 3.00 | 3.00 | ms | 3 |",
    ]
    ours = Measure("ours", samples=[4.0], target=3.0, baseline=plain, memory_mb=51.5, note="why")
    header, _, _, line = table([plain, ours]).splitlines()
    assert header == (
        "| measure | target | this run | met | baseline | P50 | P99 | max | unit | n | memory MB |"
    )
    assert line == (
        "| ours (why) | P50 ≤ 3.00 | 4.00 | **no** | 2.00 x bare | 4.00 | 4.00 | 4.00 | ms | 1 | 51.50 |"
    )


def test_json_says_what_the_table_says() -> None:
    base = Measure("bare", samples=[2.0])
    one = Measure("rate", "a second", [6.0], target=5.0, least=True, baseline=base, memory_mb=12.34)
    line = json.loads(json.dumps(one.to_map()))
    assert (line["value"], line["met"], line["target_is"]) == (6.0, True, "least")
    assert (line["baseline"], line["ratio"], line["memory_mb"]) == ("bare", 3.0, 12.3)
    assert json.loads(json.dumps(base.to_map()))["baseline"] is None


@pytest.mark.parametrize("exponent", [0.0, 0.5, 1.0, 2.0])
def test_the_fit_finds_the_exponent_of_a_power_law(exponent: float) -> None:
    law = power_law([(size, 3 * size**exponent) for size in (1_000.0, 10_000.0, 100_000.0)])
    assert law.exponent == pytest.approx(exponent, abs=1e-9)
    assert law.factor == pytest.approx(3)
    assert law.worst == pytest.approx(1)
    assert law.at(500) == pytest.approx(3 * 500**exponent)


def test_the_fit_tells_how_far_the_farthest_point_is() -> None:
    # In logarithms the mean of both ends is 2, and the point between them lies at 3.
    law = power_law([(1, 10), (10, 1_000), (100, 1_000)])
    assert law.exponent == pytest.approx(1)
    assert law.worst == pytest.approx(10 ** (2 / 3))


@pytest.mark.parametrize("points", [[], [(10, 1)], [(10, 1), (10, 2)], [(1, 0), (2, 1)], [(0, 1), (2, 1)]])
def test_the_fit_refuses_points_that_say_nothing(points: list[tuple[float, float]]) -> None:
    with pytest.raises(ValueError, match=r"two sizes|above 0"):
        power_law(points)


def test_a_curve_is_its_points_and_their_exponent() -> None:
    lines = curves({("time", "s"): [(10, 1), (100, 10)], ("memory", "MB"): [(10, 5)]}, "files")
    assert [(one.name, one.unit) for one in lines] == [
        ("time at 10 files", "s"),
        ("time at 100 files", "s"),
        ("time: exponent in files", ""),
        ("memory at 10 files", "MB"),
    ]
    assert lines[2].p50 == pytest.approx(1)


def test_a_busy_machine_is_warned_of() -> None:
    assert not Machine("2 cores", "2026-01-01", (1.0, 3.0, 3.0)).warning
    assert "1.1" in Machine("2 cores", "2026-01-01", (1.1, 0.0, 0.0)).warning
