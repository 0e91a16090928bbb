"""Imports that are written as paths and expressions are found, with what they name made relative where it is."""

from __future__ import annotations

from tests.parse_cases import imports


def check(source: str, language: str, expected: list[tuple[str, bool]]) -> None:
    assert [(module, required) for module, _, _, required in imports(source, language)] == expected


def test_includes() -> None:
    source = '#include "a/b.h"\n# include <c.h>\n#include NAME\n#include ""\n  #include "d.h" // "e.h"\n'
    for language in ("c", "cpp"):
        check(source, language, [("a/b.h", True), ("<c.h>", True), ("d.h", True)])


def test_ruby() -> None:
    source = """\
require "a/b"
require('c')
require_relative "d"
require_relative "../e"
autoload :Foo, "foo/bar"
load "f.rb"
require File.expand_path("../g", __FILE__)
require File.expand_path("../../h", __FILE__)
require File.expand_path("i", __dir__)
require File.join(__dir__, "j", "k")
require __dir__ + "/l"
require name
require "#{name}/m"
thing.require "n"
other "o"
"""
    check(
        source,
        "ruby",
        [
            ("a/b", False), ("c", False), ("./d", True), ("../e", True), ("foo/bar", False), ("f.rb", False),
            ("./g", False), ("../h", False), ("./i", False), ("./j/k", False), ("./l", False),
        ],
    )  # fmt: skip


def test_php() -> None:
    source = r"""<?php
namespace App;
use A\B;
use \A\C as D, A\E;
use function A\f;
use const A\G;
use A\{H, I\J as K};
require __DIR__ . '/a.php';
require_once(__DIR__ . "/../b.php");
include 'c.php';
require dirname(__FILE__) . '/d.php';
require dirname(__DIR__) . '/e.php';
require dirname(__DIR__, 2) . '/f.php';
require dirname(dirname(__FILE__)) . '/g.php';
require ROOT . '/lib/h.php';
require $this->root . '/i.php';
if (is_file(__DIR__ . '/j.php')) { require __DIR__ . '/j.php'; }
require $name;
require __DIR__ . "/$name.php";
require __DIR__ . '/k' . $name . '.php';
"""
    check(
        source,
        "php",
        [
            (r"A\B", True), (r"A\C", True), (r"A\E", True), (r"A\f", False), (r"A\G", False), (r"A\H", True),
            (r"A\I\J", True), ("./a.php", True), ("../b.php", True), ("c.php", False), ("./d.php", True),
            ("../e.php", True), ("../../f.php", True), ("../g.php", True), ("lib/h.php", False), ("i.php", False),
            ("./j.php", False),
        ],
    )  # fmt: skip


def test_lua() -> None:
    source = """\
local a = require "a.b"
local c = require('c').d
local e = require [[e]]
local ok, f = pcall(require, "f")
require(name)
load("g")
"""
    check(source, "lua", [("a.b", True), ("c", True), ("e", True), ("f", False)])


def test_bash() -> None:
    source = """\
source lib.sh
. ./a.sh
. "$(dirname "$0")/b.sh"
. "$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/../c.sh"
source "${BASH_SOURCE%/*}/d.sh"
. "${DIR}/e.sh"
source $DIR/f.sh
[ -f "$(dirname "$0")/g.sh" ] && . "$(dirname "$0")/g.sh"
source "$DIR/$name.sh"
source <(generate)
load 'helper'
load_all x
"""
    check(
        source,
        "bash",
        [
            ("lib.sh", False), ("./a.sh", False), ("./b.sh", True), ("../c.sh", True), ("./d.sh", True),
            ("${DIR}/e.sh", False), ("$DIR/f.sh", False), ("./g.sh", False), ("./helper", False),
        ],
    )  # fmt: skip
