"""The retrieval benchmark mines questions: which commits ask what, and which files of which tree answer."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from foveal.benchmarks.retrieval.checkout import check_out
from foveal.benchmarks.retrieval.messages import fixed_issues, question
from foveal.benchmarks.retrieval.mining import (
    Question,
    mine_commits,
    mine_fixes,
    read_questions,
    write_questions,
)
from foveal.benchmarks.retrieval.repositories import Repository, clone_of, read_repositories
from foveal.benchmarks.retrieval.source_files import language_of


class History:
    """A repository whose commits are a minute apart, whatever the clock says."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.minutes = 0
        folder.mkdir()
        self.git("init", "--quiet", "--initial-branch=main")

    def git(self, *arguments: str, author: str = "Ann") -> str:
        date = f"{1_700_000_000 + 60 * self.minutes} +0000"
        identity = {"GIT_AUTHOR_NAME": author, "GIT_AUTHOR_EMAIL": "a@b", "GIT_AUTHOR_DATE": date}
        identity |= {"GIT_COMMITTER_NAME": author, "GIT_COMMITTER_EMAIL": "a@b", "GIT_COMMITTER_DATE": date}
        environment = os.environ | identity | {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
        command = ["git", "-C", str(self.folder), *arguments]
        done = subprocess.run(command, check=True, env=environment, capture_output=True, text=True)
        return done.stdout.strip()

    def commit(self, message: str, *paths: str, author: str = "Ann") -> str:
        """Change the files, with content of their own each time, and return the commit."""
        self.minutes += 1
        for path in paths:
            (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / path).write_text(f"{path} {self.minutes}\n")
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", f"--message={message}", author=author)
        return self.git("rev-parse", "HEAD")

    def repository(self, revision: str) -> Repository:
        until = self.git("rev-parse", "HEAD")
        return Repository(self.folder.name, f"ann/{self.folder.name}", revision, until, ("python",), "tune")


@pytest.fixture
def history(tmp_path: Path) -> History:
    return History(tmp_path / "shop")


def files_of(questions: list[Question]) -> list[tuple[str, ...]]:
    return [one.answers for one in questions]


def test_a_commit_asks_its_message_and_is_answered_by_its_source_files(history: History) -> None:
    tree = history.commit("Start", "shop/cart.py", "shop/tax.py", "tests/test_cart.py", "CHANGELOG.md")
    fix = history.commit(
        "Round prices of carts half up (fixes #12)\n\nBanks do so.\n\nSigned-off-by: Ann <a@b>",
        *("shop/cart.py", "shop/tax.py", "shop/rounding.py", "tests/test_cart.py", "CHANGELOG.md"),
    )
    repository = history.repository(tree)
    assert mine_commits(history.folder, repository) == [
        Question(
            query="Round prices of carts half up\nBanks do so.",
            repo="shop",
            revision=tree,
            answers=("shop/cart.py", "shop/tax.py"),  # rounding.py is new: nothing to find in the tree
            language="python",
            split="tune",
            commit=fix,
            issues=(12,),
        )
    ]


def test_commits_that_say_nothing_of_a_few_known_files_are_left_out(history: History) -> None:
    tree = history.commit("Start", "a.py", "b.py", "c.py", "d.py", "tests/test_a.py")
    history.commit("Make every module greet its caller politely", "a.py", "b.py", "c.py", "d.py")
    history.commit("Test the greeting of the first module", "tests/test_a.py")
    history.commit("Add a module that counts all greetings", "counter.py")
    history.commit("Count greetings of each caller on its own", "counter.py")  # not in the pinned tree
    history.commit("Update the greeting to the newest wording", "a.py", author="renovate[bot]")
    history.commit("Fix greeting", "a.py")
    kept = history.commit("Greet callers by their first name only", "a.py")
    history.commit("Greet callers by their last name again", "a.py")  # the answers of the one before
    (only,) = mine_commits(history.folder, history.repository(tree))
    assert only.commit == kept


def test_the_first_commits_after_the_tree_are_taken_in_order(history: History) -> None:
    tree = history.commit("Start", *(f"m{number}.py" for number in range(5)))
    for number in range(5):
        history.commit(f"Let module number {number} close its file", f"m{number}.py")
    first = mine_commits(history.folder, history.repository(tree), limit=2)
    assert files_of(first) == [("m0.py",), ("m1.py",)]


def test_merges_and_commits_older_than_the_tree_are_left_out(history: History) -> None:
    history.commit("Start", "a.py", "b.py", "c.py")
    history.git("switch", "--quiet", "--create=side")
    history.commit("Let the old branch open a second file", "a.py")
    history.git("switch", "--quiet", "main")
    tree = history.commit("Let the main branch open a third file", "b.py")
    history.minutes += 1
    history.git("merge", "--quiet", "--no-ff", "--message=Join what both of the branches opened", "side")
    history.commit("Let all the branches close their files", "c.py")
    assert files_of(mine_commits(history.folder, history.repository(tree))) == [("c.py",)]


def test_a_message_that_looks_like_our_own_separators_is_only_a_message(history: History) -> None:
    tree = history.commit("Start", "a.py")
    history.commit(f"Accept the record separator \x1e{'0' * 40} inside a name", "a.py")
    (only,) = mine_commits(history.folder, history.repository(tree))
    assert only.answers == ("a.py",)


def test_fixes_are_the_commits_that_alone_fix_one_issue(history: History) -> None:
    tree = history.commit("Start", "a.py", "b.py", "c.py", "d.py")
    history.commit("Fixes #1", "a.py")
    history.commit("Close the file and the socket\n\nFixes #2, closes #3", "b.py")
    history.commit("First half, fixes #4", "c.py")
    history.commit("Second half, fixes #4", "d.py")
    fixes = mine_fixes(history.folder, history.repository(tree))
    assert [(one.issues, one.answers, one.query) for one in fixes] == [((1,), ("a.py",), "")]


def test_questions_survive_their_file(history: History, tmp_path: Path) -> None:
    tree = history.commit("Start", "ä.py")
    history.commit("Let Umlauts like ä and ö be sorted\n\nFixes #5", "ä.py")
    mined = mine_commits(history.folder, history.repository(tree))
    write_questions(tmp_path / "commits.jsonl", mined)
    assert read_questions(tmp_path / "commits.jsonl") == mined
    assert files_of(mined) == [("ä.py",)]


def test_the_tree_has_every_file_of_its_revision_and_nothing_later(history: History, tmp_path: Path) -> None:
    (history.folder / ".gitattributes").write_text("tests export-ignore\n")
    tree = history.commit("Start", "a.py", "tests/test_a.py")
    history.commit("Later", "a.py", "b.py")
    repository = history.repository(tree)
    for _ in range(2):  # the second time it is there already
        (folder,) = check_out(tmp_path, tmp_path / "trees", [repository])
        found = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
        assert found == [".gitattributes", "a.py", "tests/test_a.py"]
        assert (folder / "a.py").read_text() == "a.py 1\n"


def test_another_revision_replaces_the_tree(history: History, tmp_path: Path) -> None:
    first = history.commit("Start", "a.py", "gone.py")
    check_out(tmp_path, tmp_path / "trees", [history.repository(first)])
    (history.folder / "gone.py").unlink()
    second = history.commit("Later", "a.py")
    (folder,) = check_out(tmp_path, tmp_path / "trees", [history.repository(second)])
    assert [path.name for path in folder.iterdir()] == ["a.py"]


def test_a_clone_without_large_files_will_do_but_not_one_without_sources(
    history: History, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tree = history.commit("Start", "a.py", "logo.tiff")
    repository = history.repository(tree)
    lose(history, "logo.tiff")
    (folder,) = check_out(tmp_path, tmp_path / "trees", [repository])
    assert [path.name for path in folder.iterdir()] == ["a.py"]
    assert "logo.tiff" in capsys.readouterr().err
    lose(history, "a.py")
    with pytest.raises(ValueError, match=r"lacks source files, among them a\.py"):
        check_out(tmp_path, tmp_path / "other", [repository])
    assert list((tmp_path / "other").iterdir()) == []


def lose(history: History, path: str) -> None:
    blob = history.git("rev-parse", f"HEAD:{path}")
    (history.folder / ".git" / "objects" / blob[:2] / blob[2:]).unlink()


def test_a_missing_clone_says_what_to_run(tmp_path: Path) -> None:
    repository = Repository("shop", "ann/shop", "0" * 40, "1" * 40, ("python",), "tune")
    with pytest.raises(FileNotFoundError, match=r"git clone https://github\.com/ann/shop "):
        clone_of(tmp_path, repository)


ENTRY = (
    f'path = "ann/shop"\nrevision = "{"0" * 40}"\nuntil = "{"1" * 40}"\nlanguages = ["go"]\nsplit = "tune"\n'
)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"ann/shop"', '"../shop"', "owner/name"),
        ("0" * 40, "main", "full commit ids"),
        ('"1', '"--upload-pack=x', "full commit ids"),
        ('["go"]', '"go"', "languages"),
        ('"tune"', '"test"', "split"),
    ],
)
def test_a_wrong_entry_is_named(tmp_path: Path, old: str, new: str, message: str) -> None:
    path = tmp_path / "repositories.toml"
    path.write_text("[[repository]]\n" + ENTRY.replace(old, new))
    with pytest.raises(ValueError, match=message):
        read_repositories(path)


def test_each_half_has_languages_of_its_own_and_languages_of_both() -> None:
    halves = {"tune": set[str](), "held_out": set[str]()}
    for repository in read_repositories():
        halves[repository.split] |= set(repository.languages)
    tune, held_out = halves["tune"], halves["held_out"]
    assert tune & held_out
    assert tune - held_out
    assert held_out - tune
    assert len(tune | held_out) >= 7


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("Keep the cursor on its line", "Keep the cursor on its line"),
        ("fix(core): keep the cursor on its line (#123)", "fix(core): keep the cursor on its line"),
        ("[Fix #123] Keep the cursor on its line", "Keep the cursor on its line"),
        ("[Fix shop#123] Keep the cursor on its line", "Keep the cursor on its line"),
        ("Keep the cursor on its line, fixes #1, closes #2", "Keep the cursor on its line"),
        ("Fix: issue 3951 the cursor leaves its own line", "the cursor leaves its own line"),
        ("Keep the cursor on its line, see https://x.org/1", "Keep the cursor on its line, see"),
        ("Keep lines of C# and F# files", "Keep lines of C# and F# files"),
        (
            "Keep the cursor on its line\n\nIt jumped.\nTwice.",
            "Keep the cursor on its line\nIt jumped.\nTwice.",
        ),
        (
            "Keep the cursor on its line\n\n# Description\n\nIt jumped.",
            "Keep the cursor on its line\nIt jumped.",
        ),
        (
            "Keep the cursor on its line\n\n<!-- Thank\nyou -->\nIt jumped.",
            "Keep the cursor on its line\nIt jumped.",
        ),
        ("Keep the cursor on its line\n\n* a list\n- [x] of boxes", "Keep the cursor on its line"),
        ("Keep the cursor on its line\n\nCo-authored-by: B <b@c>\nCloses #4", "Keep the cursor on its line"),
        (
            "Keep the cursor on its line\n\n" + "It jumped.\n" * 9,
            "Keep the cursor on its line" + "\nIt jumped." * 4,
        ),
        ("Keep the cursor on its line\n\nSummary\n\nIt jumped.", "Keep the cursor on its line\nIt jumped."),
        ("Fix the cursor", ""),
        ("Revert the change that moved the cursor", ""),
        ("Merge the branch that moves the cursor", ""),
        ("Bump the parser from one to two", ""),
        ("chore(deps): move the parser to another branch", ""),
        ("[doc] Tell how the cursor stays there", ""),
        ("Fix a typo in the cursor's message", ""),
        ("Run prettier on all of the files", ""),
        ("Update all of the dependencies at once", ""),
        ("", ""),
        ("\n\n", ""),
    ],
)
def test_question(message: str, expected: str) -> None:
    assert question(message) == expected


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("Keep it (fixes #12)", [12]),
        ("Closes: #12, resolves GH-13", [12, 13]),
        ("[Fix #12] Keep it", [12]),
        ("Fix: issue 12 it moves", [12]),
        ("Fixes https://github.com/ann/shop/issues/12", [12]),
        ("Fixes https://github.com/bob/mill/issues/12", []),
        ("Keep it (#12)", []),
        ("See #12, a prefix #13", []),
        ("<!-- Fixes #12 -->", []),
    ],
)
def test_fixed_issues(message: str, expected: list[int]) -> None:
    assert fixed_issues(message, "ann/shop") == expected


@pytest.mark.parametrize(
    ("path", "language"),
    [
        ("src/cart.py", "python"),
        ("lib/latest/contest.rb", "ruby"),
        ("src/cart.d.ts", ""),
        ("src/cart.test.tsx", ""),
        ("cart_test.go", ""),
        ("proto/cart.pb.go", ""),
        ("src/test/java/Cart.java", ""),
        ("src/main/java/CartTest.java", ""),
        ("src/main/java/Contest.java", "java"),
        ("core-testing/src/Cart.java", ""),
        ("detekt-test-utils/Cart.kt", ""),
        ("integrationTest/Cart.kt", ""),
        ("spec/cart_spec.rb", ""),
        ("docs/conf.py", ""),
        ("vendor/x/y.go", ""),
        ("share/translations/shop_en.ts", ""),
        ("README.md", ""),
        ("package-lock.json", ""),
        ("Makefile", ""),
        ("", ""),
    ],
)
def test_language_of(path: str, language: str) -> None:
    assert language_of(path) == language
