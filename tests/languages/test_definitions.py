"""What is assigned to an export or a member is a definition too, and a name for a module is none."""

from __future__ import annotations

from tests.parse_cases import check, heads


def test_commonjs_and_prototype_definitions() -> None:
    source = """\
exports.a = function () {};  #= 0 function a
module.exports.b = () => 1;  #= 0 function b
exports.limit = 5;  #= 0 constant limit
exports.again = limit;
exports.passed = require('passed');
module.exports = function create() {};  #= 0 function create
Foo.prototype.bar = function () {};  #= 1 method Foo.bar
app.use = function use(fn) {  #= 1 method app.use to 11
  el.onclick = function () {};
  this.go = function () {};  #= 2 function app.use.go
};
var wrapped = (function inner() {  #= 0 function wrapped to 14
  function deep() {}  #= 1 function wrapped.deep
});
const View = () => <div onClick={() => 1}>a</div>;  #= 0 function View
export default { name: 1 };  #= 0 constant default
"""
    check(source, "javascript")
    assert heads(source, "javascript")["app.use"] == "app.use = function use(fn)"
