"""The definitions at the lines that a question names come before all that only has its words."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from foveal.daemon.search.filters import EVERYTHING
from foveal.daemon.search.query import FoundDefinition
from foveal.daemon.search.router import conclude, gather

from tests.search_cases import Indexed, indexed

LONG = "".join(f"    step({n})\n" for n in range(140))
FILES: dict[str, str | bytes] = {
    "shop/app.py": (
        "class App:\n    def run(self):\n        return self.serve()\n\n"
        "    def serve(self):\n        return open_session({})\n\n"
        "    def stop(self):\n        pass\n"
    ),
    "shop/sessions.py": "KEY = 'a'\n\n\ndef open_session(request):\n    return request['cookie']\n\n\ndef save_session():\n    pass\n",
    "shop/steps.py": f"def run_all():\n{LONG}",
    "tests/test_app.py": "def test_open():\n    assert App().run()\n\n\ndef test_stop():\n    App().stop()\n",
    "other/sessions.py": "def close_session():\n    pass\n",
    "go/serve.go": "package shop\n\nfunc Serve() int {\n\treturn 1\n}\n",
    "go/serve_test.go": "package shop\n\nfunc TestServe(t *testing.T) {\n\tServe()\n}\n",
}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Indexed:
    return indexed(tmp_path_factory.mktemp("p"), FILES)


def found(project: Indexed, text: str) -> Sequence[FoundDefinition]:
    """Return the found definitions, the most probable first."""
    with project.reader() as reader, reader.snapshot():
        gathered = gather(text, project.tree, reader, project.handle, EVERYTHING, None, 10)
        hits = conclude(gathered, (), project.tree, reader, 10, definitions=True)
    return sorted((one for hit in hits for one in hit.definitions), key=lambda one: -one.probability)


def names(project: Indexed, text: str, most: int) -> list[str]:
    return [one.symbol.name if one.symbol else "" for one in found(project, text)[:most]]


INSTALLED = """the shop crashes

Traceback (most recent call last):
  File "/home/me/blog/app.py", line 6, in <module>
    app.run()
  File "/usr/lib/python3.11/site-packages/shop/app.py", line 3, in run
    return self.serve()
  File "/usr/lib/python3.11/site-packages/shop/app.py", line 600, in serve
    return open_session({})
  File "/usr/lib/python3.11/site-packages/shop/sessions.py", line 5, in open_session
    return request['cookie']
  File "/usr/lib/python3.11/site-packages/cookies/sessions.py", line 9, in __getitem__
    raise KeyError(key)
KeyError: 'cookie'
"""


def test_frames_come_first_the_innermost_before_all(project: Indexed) -> None:
    """One frame is of another version, one of another package, one of a script of the same name."""
    best = ["open_session", "App.serve", "App.run"]
    assert names(project, INSTALLED, 3) == best
    probabilities = [one.probability for one in found(project, INSTALLED)]
    assert probabilities[:3] == sorted(set(probabilities[:3]), reverse=True)
    assert probabilities[2] > 3 * max(probabilities[3:], default=0.0)


def test_a_frame_in_a_long_function_shows_the_lines_around(project: Indexed) -> None:
    text = 'Traceback (most recent call last):\n  File "shop/steps.py", line 80, in run_all\nValueError: no'
    best = found(project, text)[0]
    assert (best.path, best.symbol, best.first, best.last) == ("shop/steps.py", None, 65, 95)


@pytest.mark.parametrize(
    ("text", "best"),
    [
        ("____ test_stop ____\n>  App().stop()\nFAILED tests/test_app.py::test_stop - assert 1", "test_stop"),
        ("--- FAIL: TestServe (0.00s)\n    serve_test.go:4: got 2", "TestServe"),
        ("what is wrong at shop/sessions.py:9", "save_session"),
    ],
)
def test_failed_tests_and_named_lines(project: Indexed, text: str, best: str) -> None:
    assert names(project, text, 1) == [best]


def test_a_failed_test_comes_before_a_line_beside_it(project: Indexed) -> None:
    """The line is that of another version of the test."""
    output = "tests/test_app.py:2: AssertionError\n{}FAILED tests/test_app.py::test_stop - assert 1"
    assert names(project, output.format(""), 2) == ["test_stop", "test_open"]
    both = output.format("FAILED tests/test_app.py::test_open - assert 0\n")
    assert names(project, both, 2) == ["test_open", "test_stop"]


def test_the_file_of_another_project_is_no_frame_of_this_one(project: Indexed) -> None:
    text = 'Traceback (most recent call last):\n  File "/home/me/blog/steps.py", line 80, in publish\nValueError: no'
    assert all("in the stack trace" not in one.reasons for one in found(project, text))


def test_a_function_that_the_file_does_not_define_makes_a_frame_less_certain(project: Indexed) -> None:
    text = 'Traceback (most recent call last):\n  File "shop/sessions.py", line 5, in {}\nKeyError: no'
    known, unknown = (found(project, text.format(name))[0] for name in ("open_session", "read_session"))
    assert known.symbol == unknown.symbol
    assert known.probability > 1.5 * unknown.probability
