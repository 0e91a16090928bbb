"""`[linked]` of config.toml and `linked` of foveal.toml: what can be written, and which projects it means."""

from __future__ import annotations

from pathlib import Path

import pytest
from foveal.daemon.config.linked import LinkedProject, parse_links, parse_user_links
from foveal.daemon.core.errors import InvalidRequest

CONFIG = {
    "~/src/shop": ["../payments", "~/common"],
    "/srv/*": ["/opt/base"],
    "allow": ["~/src/*", "/opt/a b"],
}


def test_the_users_table_names_projects_and_what_they_may_name(tmp_path: Path) -> None:
    home = str(tmp_path)
    config = parse_user_links(CONFIG)
    assert [*config.named_for(f"{home}/src/shop", home)] == ["../payments", "~/common"]
    assert [*config.named_for("/srv/web", home)] == ["/opt/base"]
    assert [*config.named_for("/srv/web/deep", home)] == []
    allowed = {
        path: config.allows(path, home) for path in (f"{home}/src/x", f"{home}/src/x/y", "/opt/a b", "/opt")
    }
    assert [*allowed.values()] == [True, False, True, False]


def test_symlinks_in_the_users_paths_are_resolved(tmp_path: Path) -> None:
    (tmp_path / "data" / "src" / "shop").mkdir(parents=True)
    (tmp_path / "src").symlink_to("data/src")
    config = parse_user_links({"allow": ["~/src/*"], "~/src/shop": ["../x"]})
    shop = str((tmp_path / "data/src/shop").resolve())
    assert config.allows(shop, str(tmp_path))
    assert [*config.named_for(shop, str(tmp_path))] == ["../x"]


@pytest.mark.parametrize(
    "content",
    [
        ["../a"],
        {"src/shop": ["../a"]},
        {"/a": "../b"},
        {"/a": [1]},
        {"/a/../b": []},
        {"allow": ["*"]},
        {"/a": ["b\n"]},
    ],
)
def test_a_table_that_cannot_be_used_is_an_error(content: object) -> None:
    with pytest.raises(InvalidRequest, match="linked"):
        parse_user_links(content)


@pytest.mark.parametrize("content", [{"a": []}, "../a", [""], [["a"]], ["a"] * 101])
def test_a_projects_list_that_cannot_be_used_is_an_error(content: object) -> None:
    with pytest.raises(InvalidRequest, match="at most 100 folders"):
        parse_links(content)


def test_a_linked_project_is_seen_from_the_other() -> None:
    assert LinkedProject.seen_from("/src/shop", "/src/pay") == LinkedProject("pay", "../pay", "/src/pay")
    assert LinkedProject.seen_from("/src/a/b", "/opt/x").prefix == "../../../opt/x"
