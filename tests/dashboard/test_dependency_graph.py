"""A file stands between what depends on it and what it depends on; every drawn file leads on."""

from __future__ import annotations

from xml.etree import ElementTree as ET

from foveal.dashboard.dependency_graph import arranged


def test_edges_between_neighbours_are_drawn_and_others_are_not() -> None:
    graph = arranged("m.py", ["a.py"], ["z.py"], {"a.py": ["z.py", "elsewhere.py"], "z.py": ["z.py"]})
    assert graph.edges == {("a.py", "m.py"), ("m.py", "z.py"), ("a.py", "z.py")}


def test_the_drawing_is_well_formed_whatever_names_are() -> None:
    names = ['a"<script>.py', "b&c'.py", "x" * 300 + ".py"]
    drawing = arranged("m.py", names, ["l/o/n/g/" * 40 + "z.py"], {}).draw(
        lambda path: f"/explore/file?path={path}"
    )
    root = ET.fromstring(drawing)
    links = [one for one in root.iter() if one.tag == "a"]
    assert len(links) == 5
    assert {link.findtext("title") for link in links} >= {*names}
    assert not [one for one in root.iter() if one.tag == "script" or "style" in one.attrib]
