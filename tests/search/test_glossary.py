"""Questions in German, Spanish and Chinese get the English words of programming; English ones get none."""

from __future__ import annotations

import pytest
from foveal.daemon.search.filters import EVERYTHING
from foveal.daemon.search.glossary import ADDED_MAX, in_english
from foveal.daemon.search.router import conclude, gather

from tests.search_cases import Indexed, indexed

FILES: dict[str, str | bytes] = {
    "web/sessions.py": "def sign_session(session, secret):\n    return secret.sign(session)\n",
    "web/uploads.py": "def upload(file):\n    return store(file)\n",
    "web/mails.py": "def deliver(message):\n    return smtp.send(message)\n",
}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Indexed:
    return indexed(tmp_path_factory.mktemp("p"), FILES)


def first(project: Indexed, text: str) -> list[str]:
    with project.reader() as reader, reader.snapshot():
        gathered = gather(text, project.tree, reader, project.handle, EVERYTHING, None, 10)
        return [hit.path for hit in conclude(gathered, (), project.tree, reader, 1)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("wie werden Sitzungen signiert?", "session sign signature"),
        ("der Netzwerkfehler beim Hochladen", "network error upload"),
        ("dónde se validan las contraseñas", "validate validation password"),
        ("la conexión a la base de datos", "database connection connect data"),
        ("会话如何签名", "session sign signature"),
        ("Wo ist die GRÖSSE?", "size"),
    ],
)
def test_a_question_in_another_language(text: str, expected: str) -> None:
    assert set(in_english(text).split()) == set(expected.split())


@pytest.mark.parametrize(
    "text",
    [
        "",
        "where are sessions signed",
        "How does the die roll decide who is to start?",
        "validate form input",
        "class Login extends Form",
        "a de facto default of the list",
    ],
)
def test_a_question_in_english_stays(text: str) -> None:
    assert in_english(text) == ""


def test_at_most_so_many_words() -> None:
    text = "die " + " ".join(
        ("Datei Fehler Sitzung Schlüssel Verbindung Warteschlange Vorlage Seite " * 9).split()
    )
    text += " Zeile Spalte Tabelle Knoten Baum Pfad Muster Regel Rolle Paket Modul Methode Klasse Farbe Breite Höhe"
    assert len(in_english(text).split()) == ADDED_MAX


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("wie werden Sitzungen signiert?", "web/sessions.py"),
        ("会话如何签名", "web/sessions.py"),
        ("cómo se suben los archivos", "web/uploads.py"),
        ("wo werden die Nachrichten gesendet?", "web/mails.py"),
    ],
)
def test_code_is_found_in_another_language(project: Indexed, text: str, path: str) -> None:
    assert first(project, text) == [path]


def test_only_the_beginning_of_a_long_text_is_read() -> None:
    question = "wie werden Sitzungen signiert? "
    assert in_english(question + "x " * 1_000)
    assert not in_english("x " * 1_000 + question)
