"""What a Python reference means is found as the interpreter would find it, where that is evident."""

from __future__ import annotations

from foveal.benchmarks.source_world import SourceWorld

from tests.link_cases import check


def test_names_of_the_file_and_its_imports() -> None:
    check(
        {
            "shop/__init__.py": "from .auth import login as sign_in\nfrom . import views\n",
            "shop/auth.py": "def login(): ...\ndef logout():\n    login()  # => login\n",
            "shop/views.py": (
                "import os\nimport shop\nimport shop.auth\nimport shop.auth as a\n"
                "from shop import auth, sign_in\nfrom .auth import login\nfrom .auth import *\nfrom x import y\n"
                "def view():\n"
                "    login()  # => shop/auth.py#login\n"
                "    auth.login()  # => shop/auth.py#login\n"
                "    a.login()  # => shop/auth.py#login\n"
                "    shop.auth.login()  # => shop/auth.py#login\n"
                "    shop.sign_in()  # => shop/auth.py#login\n"
                "    sign_in()  # => shop/auth.py#login\n"
                "    logout()  # => shop/auth.py#logout\n"
                "    os.path.join('a')  # => external\n"
                "    y()  # => external\n"
                "    print()  # => external\n"
                "    ''.join([])  # => external\n"
                "    nothing()  # => ?\n"
            ),
        }
    )


def test_what_is_local_hides_what_lies_further_out() -> None:
    check(
        {
            "a.py": (
                "def run(): ...\ndef walk(): ...\n"
                "def outer(run):\n"
                "    run()  # => ?\n"
                "    def walk(): ...\n"
                "    walk()  # => outer.walk\n"
                "    def inner():\n"
                "        walk()  # => outer.walk\n"
                "        run()  # => ?\n"
                "def loop():\n"
                "    for walk in []:\n"
                "        walk()  # => ?\n"
                "    return [run() for run in x]  # => ?\n"
                "class Walker:\n"
                "    def walk(self):\n"
                "        walk()  # => walk\n"
            )
        }
    )


def test_methods_by_what_the_object_is() -> None:
    check(
        {
            "base.py": (
                "class Base:\n    def save(self): ...\n    def load(self) -> 'Base': ...\n"
                "    def clone(self): return self\n    @classmethod\n    def make(cls): return cls()\n"
            ),
            "user.py": (
                "import typing\nfrom base import Base\n"
                "class Mailer:\n    def send(self): ...\n"
                "class User(Base):\n"
                "    mailer: Mailer\n"
                "    def __init__(self, other: Mailer, things: list[Mailer]):\n"
                "        super().__init__()  # => external, ?\n"
                "        self.own = Mailer()  # => Mailer\n"
                "        self.given = other\n"
                "        self.things = things\n"
                "    def save(self):\n"
                "        super().save()  # => external, base.py#Base.save\n"
                "        self.save()  # => User.save\n"
                "        self.load()  # => base.py#Base.load\n"
                "        self.load().save()  # => base.py#Base.load, base.py#Base.save\n"
                "        self.clone().save()  # => base.py#Base.clone, User.save\n"
                "        User.make().save()  # => base.py#Base.make, User.save\n"
                "        self.mailer.send()  # => Mailer.send\n"
                "        self.own.send()  # => Mailer.send\n"
                "        self.given.send()  # => Mailer.send\n"
                "        for one in self.things:\n"
                "            one.send()  # => Mailer.send\n"
                "        self.things[0].send()  # => Mailer.send\n"
                "        self.things.append(1)  # => external\n"
                "        self.missing()  # => ?\n"
                "    @property\n"
                "    def box(self) -> Mailer: ...\n"
                "def use(a: User, b: 'User | None', c: typing.Any, d: str, *e: int):\n"
                "    a.box.send()  # => Mailer.send\n"
                "    a.save()  # => User.save\n"
                "    b.save()  # => User.save\n"
                "    c.save()  # => ?\n"
                "    d.strip()  # => external\n"
                "    with User() as u:  # => User\n"
                "        u.load()  # => base.py#Base.load\n"
                "    x = Mailer()\n"
                "    x.send()  # => Mailer.send\n"
                "    x = User(1, 2)\n"
                "    x.save()  # => User.save\n"
                "    y = c or Mailer()\n"
                "    y.send()  # => Mailer.send\n"
                "    z = a if c else None\n"
                "    z.save()  # => User.save\n"
                "    if isinstance(c, Mailer):\n"
                "        c.send()  # => Mailer.send\n"
                "shared = User()\n"
                "shared.save()  # => User.save\n"
            ),
        }
    )


def test_circles_end() -> None:
    check(
        {
            "a.py": (
                "from b import f, B\nclass A(B):\n    def go(self): self.stop()  # => ?\n"
                "def g(): return f()  # => ?\n"
            ),
            "b.py": (
                "from a import f, A\nclass B(A):\n    def run(self): self.go()  # => a.py#A.go\n"
                "x = y\ny = x\nx.z()  # => ?\ndef h(): return h().i()  # => h, ?\n"
            ),
        }
    )


def test_a_source_made_to_branch_ends() -> None:
    lines = ["x0 = 1"]
    for n in range(200):
        lines += [f"x{n + 1} = x{n}.a.b()[0].c()", f"x{n + 1} = x{n}.d(x{n})", f"x{n + 1} = x{n}()"]
    body = "\n    ".join(lines)
    world = SourceWorld({"a.py": f"def f():\n    {body}\n    x200.go()\n"})
    assert world.link("a.py").links[-1].state in {"name", "external"}


def test_each_of_several_types_counts() -> None:
    check(
        {
            "a.py": (
                "class A:\n    def f(self): ...\nclass B:\n    def f(self): ...\n"
                "def g(x: 'A | B'):\n    x.f()  # => A.f, B.f\n"
                "y = A()\ny = B()\ny.f()  # => A.f, B.f\n"
            )
        }
    )


def test_an_object_bound_to_many_things_on_one_line_may_be_anything() -> None:
    bound = "; ".join(f"self = {name}()" for name in "abcde")
    check({"a.py": f"class A:\n    def run(self):\n        {bound}\n        self.go()  # => ?\n"})
