"""What a Java reference means is found through packages, imports, fields and the classes above."""

from __future__ import annotations

from tests.link_cases import check


def test_classes_members_and_packages() -> None:
    check(
        {
            "src/main/java/shop/Base.java": (
                "package shop;\npublic abstract class Base {\n  protected void save() {}\n"
                "  public Base load() { return this; }\n}\n"
            ),
            "src/main/java/shop/mail/Mailer.java": (
                "package shop.mail;\npublic class Mailer {\n  public static Mailer create() {\n"
                "    return new Mailer();  // => Mailer\n  }\n  public void send() {}\n"
                "  public static class Options { void set() {} }\n}\n"
            ),
            "src/main/java/shop/User.java": (
                "package shop;\nimport java.util.List;\nimport shop.mail.Mailer;\n"
                "import static shop.mail.Mailer.create;\n"
                "public class User extends Base {\n"
                "  private final Mailer mailer = new Mailer();  // => src/main/java/shop/mail/Mailer.java#Mailer\n"
                "  private List<Mailer> all;\n"
                "  void run(Mailer given, Object any, String text) {\n"
                "    save();  // => src/main/java/shop/Base.java#Base.save\n"
                "    this.save();  // => src/main/java/shop/Base.java#Base.save\n"
                "    super.save();  // => src/main/java/shop/Base.java#Base.save\n"
                "    mailer.send();  // => src/main/java/shop/mail/Mailer.java#Mailer.send\n"
                "    given.send();  // => src/main/java/shop/mail/Mailer.java#Mailer.send\n"
                "    create().send();"
                "  // => src/main/java/shop/mail/Mailer.java#Mailer.create,"
                " src/main/java/shop/mail/Mailer.java#Mailer.send\n"
                "    for (Mailer one : all) {\n"
                "      one.send();  // => src/main/java/shop/mail/Mailer.java#Mailer.send\n"
                "    }\n"
                "    any.send();  // => ?\n"
                "    text.trim();  // => external\n"
                "    helper();  // => User.helper\n"
                "    Other.go();  // => src/main/java/shop/Other.java#Other.go\n"
                "    System.out.println();  // => external\n"
                "  }\n"
                "  private void helper() {}\n"
                "}\n"
            ),
            "src/main/java/shop/Other.java": "package shop;\nclass Other { static void go() {} }\n",
            "src/test/java/shop/UserTest.java": (
                "package shop;\nclass UserTest {\n  void test() {\n"
                "    new User().load();"
                "  // => src/main/java/shop/User.java#User, src/main/java/shop/Base.java#Base.load\n"
                "  }\n}\n"
            ),
        }
    )


def test_bases() -> None:
    check(
        {
            "a/One.java": "package a;\npublic interface One {}\n",
            "a/Two.java": "package a;\nclass Two implements One {}  // => a/One.java#One\n",
            "b/Three.java": (
                "package b;\nimport a.*;\nclass Three extends Two {}  // => a/Two.java#Two\n"
                "class Four extends Exception {}  // => external\n"
            ),
        },
        "inherit",
    )


def test_no_variable_hides_a_method() -> None:
    check(
        {
            "A.java": "class A {\n  int size() { return 1; }\n  void go() {\n    int size = size();  // => A.size\n  }\n}\n"
        }
    )
