"""A text is made shorter so that what a prompt asks about stays: never longer than asked, always the same, with
true line numbers and a count of what was left out, whatever the text."""

from __future__ import annotations

import gc
import json
import time

import pytest
from foveal.daemon.compression.compress import FORM_MIN, MARK, Compressed, compress, kind_of, note
from foveal.daemon.languages.shared.language import LANGUAGES
from foveal.daemon.languages.shared.parse import parse_source
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.properties import examples

FILLER = "\n".join(f"    value_{n} = compute_{n}(left_{n}, right_{n})" for n in range(40))

PYTHON = f'''"""Sessions."""

import time


class Session:
    """A session of one user."""

    def load(self, path):
        """Load it from a file."""
{FILLER.replace("    value", "        value")}
        return value_1

    def refresh(self, token):
        """Give a new token for an old one."""
{FILLER.replace("    value", "        value")}
        for attempt in range(5):
            if token.expired_at < time.time():
                delay = min(self.backoff * 2**attempt, MAX_DELAY)
                time.sleep(delay)
            else:
                audit(token)
{FILLER.replace("    value", "        later")}
        return token


def render(session):
{FILLER}
    return value_2
'''


def shorten(text: str, path: str, words: list[str], characters: int) -> Compressed:
    """Compress a text with what the parser says of it, and check what holds for every answer."""
    language = path.rpartition(".")[2]
    symbols = parse_source(text.encode(), {"py": "python", "js": "javascript"}.get(language, "")).symbols
    made = compress(text, path, words, characters, symbols)
    assert len(made.text) <= characters
    assert made == compress(text, path, words, characters, symbols)
    check_numbers(text, made.text)
    return made


def check_numbers(text: str, shorter: str) -> None:
    """Each line under a number is that line of the text, and each count of lines is true."""
    lines = text.split("\n")
    last = 0
    hidden = 0
    for row in shorter.split("\n"):
        number, _, rest = row.strip().partition("  ")
        if number == "…" and rest.replace(",", "").removesuffix("s").removesuffix(" line").isdigit():
            hidden = int(rest.split()[0].replace(",", ""))
        elif number.isdigit():
            line = int(number)
            assert lines[line - 1].strip() == rest.strip()
            assert hidden == sum(bool(one.strip()) for one in lines[last : line - 1])
            last, hidden = line, 0


def test_the_lines_that_are_asked_about_stay_with_the_blocks_around_them() -> None:
    made = shorten(PYTHON, "session.py", ["backoff", "delay", "expired"], len(PYTHON) // 6)
    for line in (
        "class Session:",
        "    def refresh(self, token):",
        "        for attempt in range(5):",
        "            if token.expired_at < time.time():",
        "                delay = min(self.backoff * 2**attempt, MAX_DELAY)",
    ):
        assert f"  {line}\n" in made.text
    assert made.kind == "code"
    assert made.left_out_lines > 80


def test_signatures_and_documentation_stay_where_nothing_is_asked() -> None:
    made = shorten(PYTHON, "session.py", [], len(PYTHON) // 6)
    for line in ('    """A session of one user."""', "    def load(self, path):", "def render(session):"):
        assert line in made.text


def test_a_definition_that_is_wanted_by_its_name_comes_first() -> None:
    symbols = parse_source(PYTHON.encode(), "python").symbols
    for text, found in ((PYTHON, symbols), (PYTHON + "later = 1\n" * 9_000, symbols)):
        made = compress(text, "session.py", ["nothing"], 1_200, found, {"render"}).text
        assert "    value_1 = compute_1(left_1, right_1)" in made
        assert "        value_1 = compute_1(left_1, right_1)" not in made


def test_code_without_symbols_is_read_by_its_indentation() -> None:
    made = compress(PYTHON, "session.py", ["backoff"], len(PYTHON) // 6)
    for line in ("    def refresh(self, token):", "        for attempt in range(5):", "self.backoff * 2"):
        assert line in made.text


def test_an_else_brings_along_its_if_and_a_body_what_opens_it() -> None:
    body = "\n".join(f"\t\tstep_{n}();" for n in range(60))
    text = f"int run(int state)\n{{\n\tif(state > 3){{\n{body}\n\t}}else{{\n{body}\n\t\treset_counter();\n\t}}\n}}\n"
    made = compress(text, "run.c", ["reset", "counter"], 300)
    assert "int run(int state)" in made.text
    assert "if(state > 3){" in made.text
    assert "}else{" in made.text
    assert "reset_counter();" in made.text


@pytest.mark.parametrize("language", sorted(LANGUAGES))
def test_every_language_keeps_what_matches(language: str) -> None:
    row = LANGUAGES[language]
    name = f"a{row.extensions[0]}" if row.extensions else row.file_names[0]
    lines = [f"alpha {n} beta gamma delta epsilon" for n in range(300)]
    lines[170] = "the reticulated splines are here"
    made = compress("\n".join(lines), name, {"reticulated": 2.0, "spline": 1.0}, 2_000)
    assert "reticulated splines" in made.text
    assert 500 < len(made.text) <= 2_000


def test_prose_keeps_headings_and_the_nearest_sentences() -> None:
    other = "Nothing of interest happens here, and it goes on and on. " * 12
    text = "".join(f"## Part {n}\n\n{other}\n\n" for n in range(8))
    text += f"## Tokens\n\n{other}\n\nA refresh token expires after nine days. {other}\n\n"
    text += "Do this:\n\n```sh\nrotate --refresh-token\n```\n\n"
    made = compress(f"# Guide\n\n{text}{other}\n", "guide.md", ["refresh", "token", "expires"], 1_500)
    assert made.kind == "prose"
    assert "# Guide\n" in made.text
    assert "## Tokens\n" in made.text
    assert "A refresh token expires after nine days." in made.text
    assert "Do this:\n\n```sh\nrotate --refresh-token\n```" in made.text
    assert made.text.index("# Guide") < made.text.index("## Tokens") < made.text.index("A refresh")


def test_a_block_of_code_in_prose_is_whole_or_counted() -> None:
    fence = "```py\n" + "\n".join(f"call_{n}()" for n in range(20)) + "\n```"
    text = f"# One\n\nAbout keys.\n\n{fence}\n\n# Two\n\n" + "Words that don't matter at all, again. " * 60
    for characters in range(100, len(text), 60):
        made = compress(text, "a.md", ["keys"], characters).text
        assert (fence in made) != ("call_3()" not in made)


def test_terms_of_a_document_stand_above_what_is_indented_below_them() -> None:
    settings = "".join(
        f"``setting{n}``\n\n  What it does is said here at some length, and then once more.\n\n" * 2
        for n in range(40)
    )
    text = f"Settings\n========\n\n{settings}``stopgroup``\n\n  Ends the orphans of a process.\n\n{settings}"
    made = compress(text, "settings.rst", ["orphans"], 900).text
    assert "``stopgroup``\n\n  Ends the orphans of a process." in made
    assert made.startswith("Settings\n========")


def test_json_keeps_a_record_with_its_keys_and_says_what_it_holds() -> None:
    data = {f"service{n}": {"host": f"smtp{n}.example.org", "port": 25, "secure": False} for n in range(200)}
    data["Orange"] = {"host": "mail.orange.example", "port": 465, "secure": True}
    text = json.dumps(data, indent=2)
    made = shorten(text, "services.json", ["orange", "port"], 2_000)
    assert made.kind == "data"
    assert "of JSON, an object with service0, service1" in made.text
    assert '"Orange": {' in made.text
    assert '"port": 465,' in made.text
    assert '"service0": {' in made.text  # the head


def test_a_table_keeps_its_head_row_and_what_matches() -> None:
    text = "id,name,city\n" + "".join(f"{n},name{n},Ulm\n" for n in range(900)) + "901,Turing,London\n"
    made = shorten(text, "people.csv", ["turing"], 700)
    assert "a table with 3 columns: id, name, city" in made.text
    assert "  1  id,name,city" in made.text
    assert "901,Turing,London" in made.text


def test_sections_of_a_configuration_stand_above_their_keys() -> None:
    text = "".join(f"[part{n}]\nsize = {n}\ncolor = 'red'\n\n" for n in range(150))
    text += "[network]\nproxy = 'none'\n" + "".join(f"[last{n}]\nsize = {n}\n" for n in range(150))
    made = shorten(text, "a.toml", ["proxy"], 800)
    assert "[network]" in made.text
    assert "proxy = 'none'" in made.text


def test_a_log_keeps_errors_first_and_counts_its_levels() -> None:
    lines = [f"2026-01-02 10:00:{n % 60:02} INFO request {n} served in {n % 7} ms" for n in range(3_000)]
    lines[1_400] = "2026-01-02 10:20:00 ERROR database is gone"
    lines[1_401:1_401] = ['  File "app.py", line 7, in query', '  File "db.py", line 9, in open']
    lines[2_000] = "2026-01-02 10:33:00 INFO cache of thumbnails was purged"
    made = shorten("\n".join(lines), "app.log", ["thumbnails"], 2_500)
    assert made.kind == "log"
    assert "ERROR database is gone" in made.text
    assert 'File "db.py", line 9' in made.text
    assert "thumbnails was purged" in made.text
    assert "1 times ERROR" in made.text
    assert lines[0] in made.text
    assert lines[-1] in made.text


def test_a_text_that_fits_comes_back_as_it_is() -> None:
    assert compress("a = 1\n", "a.py", ["a"], 6) == Compressed("a = 1\n", 0, "code")
    assert compress("", "a.py", [], 0) == Compressed("", 0, "code")


def test_without_room_the_first_line_is_cut() -> None:
    text = "first line of it\n" * 50
    assert compress(text, "a.py", [], 0) == Compressed("", 50, "cut")
    assert compress(text, "a.py", [], -5).text == ""
    assert compress(text, "a.py", [], 8).text == "first l…"
    for characters in range(1, FORM_MIN):
        assert 0 < len(compress(text, "a.py", [], characters).text) <= characters


def test_pieces_of_a_line_that_is_too_long_are_taken_around_the_words() -> None:
    text = "x=1;" * 100_000 + "function retryPolicy(a){return a*2}" + "y=2;" * 100_000
    made = compress(text, "packed.min.js", ["retry", "policy"], 1_000)
    assert "function retryPolicy(a){return a*2}" in made.text
    assert made.text.startswith("x=1;")
    assert made.kind == "cut"
    assert made.left_out_lines == 1


def test_the_note_tells_how_to_get_the_rest() -> None:
    made = Compressed("…", 1_204, "code")
    assert note(made, "a.py#load") == f"{MARK} 1,204 lines left out: expand a.py#load"
    assert note(Compressed("…", 1, "code"), "a.py").startswith("[COMPRESSED] 1 line left out")
    assert note(Compressed("whole", 0, "code"), "a.py") == ""


@pytest.mark.parametrize(
    ("path", "text", "kind"),
    [
        ("a.py", "", "code"),
        ("a.unknown", "if (a) {\n  b();\n}\n", "code"),
        ("notes", "Some words that were written.\nAnd more of them.\n", "prose"),
        ("README.md", "# Title", "prose"),
        ("uv.lock", "version = 1", "data"),
        ("go.sum", "", "data"),
        ("a.json", "{}", "data"),
        ("dump", '{"a": 1}', "data"),
        ("build.log", "", "log"),
        ("build.log.1", "", "log"),
        ("out.txt", "2026-01-02 10:00:00 a\n2026-01-02 10:00:01 b\n2026-01-02 10:00:02 c\n", "log"),
        ("catalog.txt", "A catalogue of things.\n", "prose"),
    ],
)
def test_the_kind_of_a_text(path: str, text: str, kind: str) -> None:
    assert kind_of(path, text) == kind


NAMES = ("a.py", "a.md", "a.rst", "a.json", "a.csv", "a.toml", "a.log", "a.c", "a", "a.txt")

HOSTILE = {
    "one line": "x" * 250_000,
    "one line of words": "retry timeout " * 18_000,
    "no words": "\n" * 250_000,
    "brackets alone": "}\n" * 100_000,
    "deep": "".join(" " * n + "if retry:\n" for n in range(600)),
    "open brackets": "[" * 125_000,
    "abbreviations": "e.g. " * 50_000,
    "items": "* a\n" * 60_000,
    "headings": "a\n===\n\n" * 35_000,
    "fences": "```\n" * 60_000,
    "one word": "retry\n" * 42_000,
    "backticks and stops": "`.)" * 75_000,
    "nested json": '{"a":' * 38_000,
    "digits": "[" + "9" * 249_999,
}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("hostile", HOSTILE)
def test_hostile_texts_take_bounded_time_and_room(name: str, hostile: str) -> None:
    began = time.process_time()
    made = compress(HOSTILE[hostile], name, ["retry", "timeout", "a"], 5_000)
    assert len(made.text) <= 5_000
    # Backtracking would take minutes. This is CPU time, a hundred times what it takes.
    assert time.process_time() - began < 5


TEXTS = st.one_of(
    st.text(max_size=2_000),
    st.lists(
        st.sampled_from(
            ["def retry():", "    return 1", "\tif a {", "}", "", "# Title", "=====", "- item", "```", "| a | b |",
             "Some words. And more! Then?", "key: value", "[part]", "{", '"a": [1, 2],', "ERROR it broke",
             "  at frame (x.js:1)", ".. note::", "a::", "x" * 300, "İstanbul ßtraße\u2028", "\r"]
        ),
        max_size=200,
    ).map("\n".join),
)  # fmt: skip


@settings(max_examples=examples(150))
@given(TEXTS, st.sampled_from(NAMES), st.lists(st.text(max_size=12), max_size=5), st.integers(-3, 3_000))
def test_any_text_is_never_longer_than_asked(text: str, path: str, words: list[str], characters: int) -> None:
    made = compress(text, path, words, characters)
    assert len(made.text) <= max(characters, 0) or made.text == text
    filled = sum(bool(line.strip()) for line in text.split("\n"))
    assert 0 <= made.left_out_lines <= filled
    assert made == compress(text, path, words, characters)
    if made.kind not in ("prose", "cut", "log") and made.text != text:
        check_numbers(text.replace("\r\n", "\n"), made.text)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("guide.md", "# Guide\n\nA token expires. Refresh it:\n\n- once\n- twice\n\n" * 20),
        ("session.py", PYTHON),
        (
            "data.json",
            json.dumps([{"name": f"n{n}", "value": [n, {"deep": n}]} for n in range(200)], indent=1),
        ),
        ("run.log", "\n".join(f"2025-01-01 10:00:{n % 60:02} INFO step {n}" for n in range(400))),
    ],
)
def test_what_was_worked_out_of_a_text_goes_with_it(name: str, text: str) -> None:
    compress(text, name, ["token"], 500)
    gc.collect()
    gc.disable()
    try:
        assert compress(text, name, ["token"], 500).text
        assert gc.collect() == 0, "cycles hold texts until they are collected"
    finally:
        gc.enable()
