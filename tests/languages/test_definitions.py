"""What is assigned to an export or a member is a definition too, and a name for a module is none."""

from __future__ import annotations

from tests.parse_cases import check, heads


def test_commonjs_and_prototype_definitions() -> None:
    source = """\
exports.a = function () {};
module.exports.b = () => 1;
exports.limit = 5;
exports.again = limit;
exports.passed = require('passed');
module.exports = function create() {};
Foo.prototype.bar = function () {};
app.use = function use(fn) {
  el.onclick = function () {};
  this.go = function () {};
};
var wrapped = (function inner() {
  function deep() {}
});
const View = () => <div onClick={() => 1}>a</div>;
export default { name: 1 };
"""
    check(
        source,
        "javascript",
        """
        0 function a 1-1
        0 function b 2-2
        0 constant limit 3-3
        0 function create 6-6
        1 method Foo.bar 7-7
        1 method app.use 8-11
        2 function app.use.go 10-10
        0 function wrapped 12-14
        1 function wrapped.deep 13-13
        0 function View 15-15
        0 constant default 16-16
        """,
    )
    assert heads(source, "javascript")["app.use"] == "app.use = function use(fn)"
