"""A package of Java, Kotlin or Scala means the folders of its name below source roots, a class its file."""

from __future__ import annotations

import pytest
from foveal.daemon.languages.shared.records import Import

from tests.import_cases import Files, check, resolver, tree

JAVA = tree(
    "src/main/java/com/shop/App.java",
    "src/main/java/com/shop/auth/Session.java",
    "src/main/java/com/shop/auth/Outer.java",
    "src/main/java/com/shop/util/Texts.java",
    "src/main/java/util/Odd.java",
    "src/main/java/java/util/Own.java",
    "src/test/java/com/shop/auth/SessionTest.java",
    "src/test/java/com/shop/auth/Fake.java",
    "lib/src/main/java/com/lib/auth/Session.java",
    "src/main/kotlin/com/shop/kt/Strings.kt",
    "src/main/scala/com/shop/sc/Rules.scala",
)
APP = "src/main/java/com/shop/App.java"
AUTH = "src/main/java/com/shop/auth"


@pytest.mark.parametrize(
    ("module", "name", "expected"),
    [
        ("com.shop.auth", "Session", f"{AUTH}/Session.java"),
        ("com.lib.auth", "Session", "lib/src/main/java/com/lib/auth/Session.java"),
        ("com.shop.auth.Outer", "Inner", f"{AUTH}/Outer.java"),
        ("com.shop.auth.Outer.Inner", "Deep", f"{AUTH}/Outer.java"),
        ("com.shop.auth.Outer", "", f"{AUTH}/Outer.java"),
        ("com.shop.auth.Outer", "MAX", f"{AUTH}/Outer.java"),
        ("com.shop.auth", "", f"{AUTH}/Outer.java"),
        ("com.shop.kt", "Strings", "src/main/kotlin/com/shop/kt/Strings.kt"),
        ("com.shop.sc", "Rules", "src/main/scala/com/shop/sc/Rules.scala"),
        ("com.shop.auth", "Gone", None),
        ("com.gone", "", None),
        ("util", "Odd", "src/main/java/util/Odd.java"),
        ("java.util", "Odd", None),
        ("java.util", "Own", "src/main/java/java/util/Own.java"),
        ("auth", "Session", f"{AUTH}/Session.java"),
        ("", "Session", None),
        ("../../etc", "passwd", None),
    ],
)
def test_java(module: str, name: str, expected: str | None) -> None:
    check(JAVA, APP, "java", module, expected, name)


def everything(language: str, importer: str, module: str, name: str = "") -> tuple[str, ...]:
    """Return all files that an import may mean."""
    return resolver(JAVA).resolve_all(importer, language, Import(module, name, 1))


def test_a_package_is_all_its_files_and_for_tests_also_theirs() -> None:
    own = (f"{AUTH}/Outer.java", f"{AUTH}/Session.java")
    tests = ("src/test/java/com/shop/auth/Fake.java", "src/test/java/com/shop/auth/SessionTest.java")
    assert everything("java", APP, "com.shop.auth") == own
    assert everything("java", "src/test/java/com/shop/A.java", "com.shop.auth") == own + tests


def test_kotlin_leaves_out_what_all_packages_begin_with() -> None:
    files = tree("src/main/kotlin/auth/Session.kt", "other/auth/Plain.kt")
    check(
        files,
        "src/main/kotlin/App.kt",
        "kotlin",
        "org.shop.auth",
        "src/main/kotlin/auth/Session.kt",
        "Session",
    )
    check(files, "src/main/kotlin/App.kt", "kotlin", "org.shop.auth", None, "Plain")
    check(files, "src/main/kotlin/App.kt", "kotlin", "kotlin.auth", None, "Session")
    check(files, "A.java", "java", "org.shop.auth", None, "Session")


def test_a_class_that_appears_is_found() -> None:
    files: Files = dict(JAVA)
    project = resolver(files)
    late = Import("com.shop.late", "Late", 1)
    assert project.resolve(APP, "java", late) is None
    path = "src/main/java/com/shop/late/Late.java"
    files[path] = ""
    project.added(path)
    assert project.resolve(APP, "java", late) == path
    del files[path]
    project.removed(path)
    assert project.resolve(APP, "java", late) is None
