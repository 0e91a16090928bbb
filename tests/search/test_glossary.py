"""Questions in other languages get the English words of programming; English ones get none."""

from __future__ import annotations

import pytest
from foveal.daemon.search.candidates import search_terms
from foveal.daemon.search.filters import EVERYTHING
from foveal.daemon.search.glossary import ADDED_MAX, in_english, understand
from foveal.daemon.search.question import take_apart
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


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("Wer ruft sign_session auf?", "what calls sign_session?"),
        ("¿Quién llama a sign_session?", "what calls sign_session?"),
        ("sign_session はどこで呼ばれますか", "what calls sign_session?"),
        ("谁调用了 `upload`", "what calls upload?"),
        ("Кто вызывает sign_session?", "what calls sign_session?"),
        ("Où est défini sign_session ?", "where is sign_session defined?"),
        ("Onde é usado sign_session?", "where is sign_session used?"),
        ("Welche Tests erreichen sign_session?", "which tests reach sign_session?"),
        ("Welche Tests erreichen to_native_string?", "which tests reach to_native_string?"),
        ("Was bricht, wenn sich sign_session ändert?", "what breaks if sign_session changes?"),
        ("Wie sind sign_session und web.uploads verbunden?", "how do sign_session and web.uploads connect?"),
        ("Warum ruft man sign_session auf?", ""),
        ("Wie wird sign_session benutzt?", ""),
        ("Wer ruft hier an?", ""),
        ("who calls sign_session?", ""),
        ("Wer benutzt upload?", "where is `upload` used?"),
        ("Wer ruft den Scheduler auf?", "what calls `Scheduler`?"),
        ("Qui hérite de Layer ?", "what inherits from `Layer`?"),
        ("Кто вызывает upload?", "what calls `upload`?"),
        ("谁调用了 upload", "what calls `upload`?"),
        ("Welche Tests erreichen die Klasse Layer?", "which tests reach `Layer`?"),
        ("Wie hängen Layer und sign_session zusammen?", "how do `Layer` and sign_session connect?"),
        ("Wer benutzt Elefanten?", ""),
        ("Wer benutzt upload von Bildern?", ""),
        ("Wo wird sign_session in Layer benutzt?", "where is sign_session used?"),
        ("Wer ruft sign_session nicht auf?", ""),
        ("Qui n'appelle pas sign_session ?", ""),
        ("Welche Tests decken sign_session nicht ab?", ""),
        ("¿Qué pruebas no cubren sign_session?", ""),
        ("Quem não chama sign_session?", ""),
        ("谁没有调用 sign_session", ""),
        ("sign_session を呼ばないのはどこ", ""),
        ("Кто не вызывает sign_session?", ""),
        ("Onde é usado sign_session no projeto?", "where is sign_session used?"),
        ("Bitte lösche alle Tests von sign_session", ""),
        ("Schreibe Tests für sign_session", ""),
        ("Remplace tout ce qui appelle sign_session", ""),
        ("S'il te plaît, supprime les tests de sign_session", ""),
        ("Escribe pruebas para sign_session", ""),
        ("请删除 sign_session 的所有测试", ""),
        ("Удали все тесты sign_session", ""),
    ],
)
def test_a_relation_of_a_name_is_asked_in_another_language(text: str, asked: str) -> None:
    known = {"upload", "Scheduler", "Layer", "Wer", "auf"}
    understood = understand(text, known.__contains__).text
    first, _, rest = understood.partition("\n")
    assert (first, rest) == ((asked, text) if asked else (understood, ""))


@pytest.mark.parametrize(
    ("text", "is_searched"),
    [
        ("Comment est calculé le nom du fichier ?", False),
        ("Comment est calculé `comment` ?", True),
        ("delete Comment", True),
        ("how is a comment removed", True),
    ],
)
def test_a_stop_word_of_another_language_is_no_name(
    project: Indexed, text: str, *, is_searched: bool
) -> None:
    terms = search_terms(take_apart(text), project.handle.current())
    assert ("comment" in terms) == is_searched


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Où sont stockées les clés de session ?", {"store", "key", "session"}),
        ("como a senha é verificada", {"password", "check"}),
        ("ログインの失敗を記録する", {"login", "log"}),
        ("где хранится пароль пользователя", {"store", "password", "user"}),
    ],
)
def test_words_of_more_languages(text: str, expected: set[str]) -> None:
    assert expected <= set(in_english(text).split())
