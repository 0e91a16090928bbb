"""What C#'s namespaces, usings and partial classes mean for a name."""

from __future__ import annotations

from tests.link_cases import check


def test_circles_end() -> None:
    check({
        "Shop/A.cs": "using Shop;\nusing static Shop.B;\nnamespace Shop;\npublic partial class A : B {\n"
        "  void Go() {\n    Nowhere();  // => ?\n    this.Up();  // => Shop/B.cs#B.Up\n  }\n}\n",
        "Shop/B.cs": "using Shop;\nusing static Shop.A;\nnamespace Shop;\npublic class B : A { public void Up() {} }\n",
        "Shop/Shop.csproj": "<Project></Project>\n",
    })  # fmt: skip
