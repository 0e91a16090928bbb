"""What connections hold together is bounded: who made no progress for the longest gives way."""

from __future__ import annotations

from foveal.ipc.holdings import Holdings, Working


class Ward:
    """Holdings of at most 100 bytes, and who was cut off; `frees`: what they held is free at once."""

    def __init__(self, *, frees: bool) -> None:
        self.gone: list[str] = []
        self._frees = frees
        self.holdings = Holdings[str](100, self._cut_off)

    def _cut_off(self, holder: str) -> None:
        self.gone.append(holder)
        if self._frees:
            self.holdings.release(holder)


def test_holder_without_progress_is_cut_off_first() -> None:
    ward = Ward(frees=True)
    for holder in "abc":
        ward.holdings.progress(holder, 30)
    ward.holdings.progress("a", 35)
    assert (ward.holdings.bytes, ward.gone) == (95, [])
    ward.holdings.progress("c", 40)
    assert (ward.holdings.bytes, ward.gone) == (75, ["b"])


def test_too_large_holder_is_cut_off() -> None:
    ward = Ward(frees=True)
    ward.holdings.hold("huge", 101)
    assert (ward.gone, ward.holdings.bytes) == (["huge"], 0)


def test_holder_counts_until_it_is_released() -> None:
    ward = Ward(frees=False)
    ward.holdings.hold("a", 60)
    ward.holdings.hold("b", 60)
    assert (ward.gone, ward.holdings.bytes) == (["a"], 120)
    ward.holdings.hold("c", 1)
    ward.holdings.hold("d", 1)
    ward.holdings.hold("e", 1)
    assert ward.gone == ["a", "b", "c", "d"]
    ward.holdings.release("a")
    ward.holdings.hold("f", 1)
    assert (ward.gone[-1], ward.holdings.bytes) == ("d", 64)


def test_large_requests_wait_until_there_is_room() -> None:
    working = Working(100)
    woken: list[str] = []
    one, other = (lambda: woken.append("one")), (lambda: woken.append("other"))
    working.begin(60)
    assert not working.full
    working.begin(60)
    assert working.full
    working.wait(one)
    working.wait(one)
    working.wait(other)
    working.forget(other)
    working.end(10)
    assert woken == []
    working.end(60)
    assert (woken, working.bytes, working.full) == (["one"], 50, False)


def test_large_requests_wait_while_the_loop_rests() -> None:
    working = Working(100)
    woken: list[str] = []
    working.rest()
    working.rest()
    working.wait(lambda: woken.append("one"))
    assert (working.full, woken) == (True, [])
    working.resume()
    assert (working.full, woken) == (True, [])
    working.resume()
    assert (working.full, woken) == (False, ["one"])


def test_a_rest_that_ends_wakes_nobody_for_whom_there_is_no_room() -> None:
    working = Working(100)
    woken: list[str] = []
    working.begin(100)
    working.rest()
    working.wait(lambda: woken.append("one"))
    working.resume()
    assert woken == []
    working.end(1)
    assert woken == ["one"]
