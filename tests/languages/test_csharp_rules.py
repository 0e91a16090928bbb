"""What C#'s namespaces, usings and partial classes mean for a name."""

from __future__ import annotations

from tests.link_cases import check


def test_a_using_brings_in_a_namespace_and_is_not_passed_on() -> None:
    check({
        "Shop/Web/Page.cs": "using Shop.Data;\nnamespace Shop.Web {\npublic class Page {\n"
        "  void Show() {\n"
        "    new Store();  // => Shop/Data/Store.cs#Store\n"
        "    new Deep();  // => ?\n"
        "  }\n}\n}\n",
        "Shop/Data/Store.cs": "using Shop.Deep;\nnamespace Shop.Data {\npublic class Store {\n"
        "  void Load() {\n    new Deep();  // => Shop/Deep/Deep.cs#Deep\n  }\n}\n}\n",
        "Shop/Deep/Deep.cs": "namespace Shop.Deep;\npublic class Deep {}\n",
        "Shop/Shop.csproj": "<Project></Project>\n",
    })  # fmt: skip


def test_a_name_of_the_own_namespace_and_of_those_around_it_needs_no_using() -> None:
    check({
        "Shop/Data/Sql/Query.cs": "using Other;\nnamespace Shop.Data.Sql {\npublic class Query {\n"
        "  void Run() {\n"
        "    new Row();  // => Shop/Data/Sql/Row.cs#Row\n"
        "    new Store();  // => Shop/Data/Store.cs#Store\n"
        "  }\n}\n}\n",
        "Shop/Data/Sql/Row.cs": "namespace Shop.Data.Sql;\npublic class Row {}\n",
        "Shop/Data/Store.cs": "namespace Shop.Data;\npublic class Store {}\n",
        "Other/Row.cs": "namespace Other;\npublic class Row {}\n",
        "Shop/Shop.csproj": "<Project></Project>\n",
    })  # fmt: skip


def test_a_partial_class_has_members_in_each_of_its_files() -> None:
    check({
        "Shop/Reader.cs": "namespace Shop;\npublic partial class Reader {\n  public void Read() {}\n}\n",
        "Shop/Reader.Async.cs": "namespace Shop;\npublic partial class Reader {\n  public void ReadAsync() {}\n}\n",
        "Shop/Use.cs": "namespace Shop;\npublic class Use {\n  void Go(Reader reader) {\n"
        "    reader.Read();  // => Shop/Reader.cs#Reader.Read\n"
        "    reader.ReadAsync();  // => Shop/Reader.Async.cs#Reader.ReadAsync\n"
        "  }\n}\n",
        "Shop/Shop.csproj": "<Project></Project>\n",
    })  # fmt: skip


def test_circles_end() -> None:
    check({
        "Shop/A.cs": "using Shop;\nusing static Shop.B;\nnamespace Shop;\npublic partial class A : B {\n"
        "  void Go() {\n    Nowhere();  // => ?\n    this.Up();  // => Shop/B.cs#B.Up\n  }\n}\n",
        "Shop/B.cs": "using Shop;\nusing static Shop.A;\nnamespace Shop;\npublic class B : A { public void Up() {} }\n",
        "Shop/Shop.csproj": "<Project></Project>\n",
    })  # fmt: skip
