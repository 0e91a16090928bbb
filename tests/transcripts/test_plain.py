"""The plain formats: a JSON object a line, or text whose headings or labels say who speaks."""

from __future__ import annotations

from pathlib import Path

from foveal.daemon.transcripts.plain import is_plain_text

from tests.transcript_cases import AT, entries_of, said_in, write

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "transcripts.md"


def text_entries(tmp_path: Path, text: str) -> list[tuple[str, str]]:
    """Return what a text says."""
    path = tmp_path / "chat.md"
    path.write_bytes(text.encode())
    return said_in(entries_of(str(path)))


def test_records_become_entries(tmp_path: Path) -> None:
    tool = {"name": "bash", "command": "make", "paths": ["a.py", 5], "failed": True}
    path = write(
        tmp_path / "t.jsonl",
        [
            {"role": "system", "content": "Be brief"},
            {"role": "user", "content": "Fix it", "at": AT, "session_id": "s1", "agent_id": "a1"},
            {"role": "assistant", "content": [{"type": "text", "text": "I look."}]},
            {"role": "tool", "content": "bad", "tool": tool},
            {"role": "tool", "content": "read", "tool": {"name": "read", "paths": "b.py"}},
            {"role": "report", "content": "Fixed because of x."},
            {"role": "summary", "content": "So far"},
            {"role": "assistant", "content": ""},
        ],
    )
    entries = entries_of(path)
    assert said_in(entries) == [
        ("user", "Fix it"),
        ("agent", "I look."),
        ("call", "make"),
        ("result", "bad"),
        ("call", "read"),
        ("result", "read"),
        ("handback", "Fixed because of x."),
        ("boundary", "So far"),
    ]
    assert (entries[0].at, entries[0].session_id, entries[0].agent_id) == (AT, "s1", "a1")
    call, result = entries[2], entries[3]
    assert (call.tool, call.paths, call.call_id) == ("run", ("a.py",), result.call_id)
    assert result.failed
    assert (entries[4].tool, entries[4].paths, entries[5].failed) == ("read", ("b.py",), False)


def test_headings_and_labels_name_the_speaker(tmp_path: Path) -> None:
    def check(text: str) -> None:
        expected = [("user", "Fix it\n\nplease"), ("agent", "Fixed."), ("result", "ok")]
        assert text_entries(tmp_path, text) == expected

    check("## User\n\nFix it\n\nplease\n\n## Assistant\n\nFixed.\n\n## Tool\nok\n")
    check("# A title\n\n## user:\nFix it\n\nplease\n## Agent (2026-11-20T10:00:00Z)\nFixed.\n## TOOL\nok")
    check("\ufeffUser: Fix it\n\nplease\nAssistant: Fixed.\nTool:\nok\n")
    check("**Human:** Fix it\n\nplease\n\n**Assistant:**\nFixed.\n**Tool**: ok\n")
    check("User: Fix it\r\n\r\nplease\r\nAssistant: Fixed.\r\nTool: ok\r\n")


def test_first_speaker_sets_the_label_style(tmp_path: Path) -> None:
    text = (
        "## User\nWhat is this?\nUser: a table\n### Assistant\n```\n## User\n```\nstill\n## Assistant\nA row."
    )
    assert text_entries(tmp_path, text) == [
        ("user", "What is this?\nUser: a table\n### Assistant\n```\n## User\n```\nstill"),
        ("agent", "A row."),
    ]
    assert text_entries(tmp_path, "User: a\nassistant: b\nAssistants: c\nAssistant: d") == [
        ("user", "a\nassistant: b\nAssistants: c"),
        ("agent", "d"),
    ]


def test_other_texts_are_refused() -> None:
    for text in (
        "", "# Users", "## Usage", "User stories", "- User: x", "the User: x", "user: x", "## The user",
        "Users: a", "USER: x", "    User: x", "```",
    ):  # fmt: skip
        assert not is_plain_text(text.encode()), text


def test_the_examples_of_the_documentation_are_read(tmp_path: Path) -> None:
    examples = DOCUMENT.read_text().split("```")[1::2]
    assert len(examples) == 2
    kinds = []
    for number, example in enumerate(examples):
        path = tmp_path / str(number)
        path.write_text(example.partition("\n")[2].replace("\\`", "`"))
        kinds.append({entry.kind for entry in entries_of(str(path))})
    assert kinds == [
        {"user", "agent", "call", "result", "handback", "boundary"},
        {"user", "agent", "result"},
    ]
