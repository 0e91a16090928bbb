"""Each language's query finds the definitions of its files, with their qualified names, kinds and lines."""

from __future__ import annotations

from foveal.daemon.languages.shared.parse import parse_source

from tests.parse_cases import check, docs, heads

RUST = """\
//! The crate.

/// Holds things. Many.
#[derive(Debug)]
// Kept small.
#[repr(C)]
pub struct Stack<T> { items: Vec<T> }
pub(crate) struct Unit;
enum Shade { Dark, Light(u8) }
pub trait Shape: Sized {
    const SIDES: usize;
    type Item;
    fn area(&self) -> f64;
    fn name(&self) -> &str { "shape" }
}
impl<T> Stack<T>
where
    T: Clone,
{
    pub const MAX: usize = 1;
    /// Makes one.
    #[inline]
    pub async fn new() -> Self { fn inner() {} const LOCAL: u8 = 1; }
}
impl<'a, T> std::fmt::Display for &'a mut shapes::Stack<T> { fn fmt(&self) {} }
impl Shape for [u8] { fn area(&self) {} }
mod tests { fn works() {} }
mod elsewhere;
pub const LIMIT: u32 = 3;
static mut STATE: u8 = 1;
type Alias<T> = Vec<T>;
macro_rules! stack { () => {} }
extern "C" { fn outside(a: i32); }
"""


def test_rust() -> None:
    check(
        RUST,
        "rust",
        """
        0 struct Stack 4-7
        0 struct Unit 8-8
        0 enum Shade 9-9
        0 trait Shape 10-15
        1 constant Shape.SIDES 11-11
        1 type Shape.Item 12-12
        1 method Shape.area 13-13
        1 method Shape.name 14-14
        1 constant Stack.MAX 20-20
        1 method Stack.new 22-23
        2 function Stack.new.inner 23-23
        1 method Stack.fmt 25-25
        1 method [u8].area 26-26
        0 module tests 27-27
        1 function tests.works 27-27
        0 constant LIMIT 29-29
        0 variable STATE 30-30
        0 type Alias 31-31
        0 macro stack 32-32
        0 function outside 33-33
        """,
    )
    found = heads(RUST, "rust")
    assert found["Stack"] == "pub struct Stack<T>"
    assert found["Stack.new"] == "pub async fn new() -> Self"
    assert found["stack"] == "macro_rules! stack"
    assert docs(RUST, "rust")["Stack"] == "Holds things."
    assert docs(RUST, "rust")["Stack.new"] == "Makes one."


JAVA = """\
package org.example;
/** Keeps {@code Items}. More. */
@Deprecated
public class Store<T> extends Base {
  public static final int MAX = 1, MIN = 0;
  private int size;
  /** Makes one. */
  @Inject public Store(int size) {}
  @Override
  public <R> void put(R item) throws Full { new Runnable() { public void run() {} }; }
  abstract void drop();
  enum Kind { A { void x() {} }, B }
  interface Reader { int LIMIT = 1; void read(); }
  record Point(int x) { Point { } }
  @interface Marker { String value() default ""; }
}
"""


def test_java() -> None:
    check(
        JAVA,
        "java",
        """
        0 class Store 3-16
        1 constant Store.MAX 5-5
        1 constant Store.MIN 5-5
        1 method Store.Store 8-8
        1 method Store.put 9-10
        2 method Store.put.run 10-10
        1 method Store.drop 11-11
        1 enum Store.Kind 12-12
        2 method Store.Kind.x 12-12
        1 interface Store.Reader 13-13
        2 constant Store.Reader.LIMIT 13-13
        2 method Store.Reader.read 13-13
        1 record Store.Point 14-14
        2 method Store.Point.Point 14-14
        1 interface Store.Marker 15-15
        2 method Store.Marker.value 15-15
        """,
    )
    assert heads(JAVA, "java")["Store.put"] == "public <R> void put(R item) throws Full"
    assert docs(JAVA, "java")["Store"] == "Keeps Items."


C = """\
#ifndef STACK_H
#define STACK_H
/* The larger. */
#define MAX(a, b) \\
    ((a) > (b) ? (a) : (b))
#define LIMIT 3
struct announced;
struct point { int x; };
typedef struct { int a; } nameless;
typedef struct tag { int a; } alias;
typedef struct Same { int a; } Same;
typedef struct opaque opaque;
typedef int (*callback)(int, void *);
typedef unsigned long word, *words;
enum color { RED };
int later(int a);
char *next(void);
extern int shared;
static const char *const names[] = { "a" };
int first = 1, *second, third[3];
int (*hook)(int) = 0;
int shared = 2;
/** Pushes one.
 * @param a what
 */
static inline struct point *push(int a)
{
    int local = 1;
    extern int elsewhere;
    int undone(int);
    return 0;
}
int later(int a) { return a; }
#ifdef FAST
#define LIMIT 4
void (*handler(int sig, void (*old)(int)))(int) { }
#endif
#endif
"""


def test_c() -> None:
    check(
        C,
        "c",
        """
        0 macro MAX 4-5
        0 macro LIMIT 6-6
        0 struct point 8-8
        0 struct nameless 9-9
        0 type alias 10-10
        0 struct tag 10-10
        0 struct Same 11-11
        0 type opaque 12-12
        0 type callback 13-13
        0 type word 14-14
        0 type words 14-14
        0 enum color 15-15
        0 prototype next 17-17
        0 constant names 19-19
        0 variable first 20-20
        0 variable second 20-20
        0 variable third 20-20
        0 variable hook 21-21
        0 variable shared 22-22
        0 function push 26-32
        0 function later 33-33
        0 function handler 36-36
        """,
    )
    found = heads(C, "c")
    assert found["MAX"] == "#define MAX(a, b)"
    assert found["nameless"] == "typedef struct { … } nameless"
    assert found["push"] == "static inline struct point *push(int a)"
    assert docs(C, "c")["push"] == "Pushes one."


CPP = """\
namespace store {
namespace { int hidden() { return 1; } }
/// \\brief Keeps things.
template <typename T, class U>
class EXPORTED Db : public Base {
 public:
  explicit Db(int a) : a_(a) {}
  virtual ~Db();
  virtual Status Open(int a) = 0;
  static constexpr int kMax = 3;
  bool operator==(const Db& other) const { return true; }
  int& ref();
  template <typename V> void put(V v) {}
  struct Inner { void deep(); };
  enum class Kind : int { A };
  using Alias = int;
  friend void stranger();
 private:
  int a_ GUARDED_BY(mutex_);
  void (*hook_)(int);
};
Db::~Db() {}
Status Db<T>::Open(int a) const { Status local(a); return local; }
bool Db::Inner::operator<(const Inner& other) { return true; }
Db::operator bool() const { return true; }
template <typename T> using List = std::vector<T>;
const std::string Db::kName = "x";
std::string* Db::Name() { return nullptr; }
inline int later(int a);
}
class Announced;
TEST_F(DbTest, Opens) { int x = 1; }
"""


def test_cpp() -> None:
    check(
        CPP,
        "cpp",
        """
        0 function hidden 2-2
        0 class Db 4-21
        1 method Db.Db 7-7
        1 constant Db.kMax 10-10
        1 method Db.operator== 11-11
        1 prototype Db.ref 12-12
        1 method Db.put 13-13
        1 struct Db.Inner 14-14
        2 prototype Db.Inner.deep 14-14
        1 enum Db.Kind 15-15
        1 type Db.Alias 16-16
        1 method Db.~Db 22-22
        1 method Db.Open 23-23
        1 method Db.Inner.operator< 24-24
        1 method Db.operator bool 25-25
        0 type List 26-26
        1 constant Db.kName 27-27
        1 method Db.Name 28-28
        0 prototype later 29-29
        1 method DbTest.Opens 32-32
        """,
    )
    found = heads(CPP, "cpp")
    assert found["Db"] == "template <typename T, class U>\nclass EXPORTED Db : public Base"
    assert found["Db.Db"] == "explicit Db(int a)"
    assert docs(CPP, "cpp")["Db"] == "Keeps things."


def test_a_header_of_c_may_hold_cpp() -> None:
    check("class Stack {\n  void push();\n};\n", "c", "0 class Stack 1-3\n1 prototype Stack.push 2-2")
    check("int class_of(struct class *a);\n", "c", "0 prototype class_of 1-1")


CSHARP = """\
namespace Example.Stores {
/// <summary>
/// Keeps <see cref="T:Item"/>. More.
/// </summary>
[Serializable]
public partial class Store<T> : Base where T : class {
  public const int Max = 1;
  private static readonly int Min = 1, Other = 2;
  private int size;
  public event EventHandler Changed;
  public Store(int a) : base(a) { }
  ~Store() {}
  public int Size { get; set; } = 3;
  public int Twice => 2;
  public int this[int i] => 1;
  [Fact] public async Task<R> Put<R>(int a) where R : T { void Local() {} return 1; }
  void IStore.Drop() {}
  public static Store<T> operator +(Store<T> a, int b) => a;
  enum Kind { A }
  record Pair(int A);
  delegate void Handler(int a);
}
partial class Store<T> { void Late() {} }
interface IStore { void Drop(); int Size { get; } }
public record struct Point(int X) { }
}
"""


def test_csharp() -> None:
    check(
        CSHARP,
        "csharp",
        """
        0 class Store 5-22
        1 constant Store.Max 7-7
        1 constant Store.Min 8-8
        1 constant Store.Other 8-8
        1 event Store.Changed 10-10
        1 method Store.Store 11-11
        1 method Store.Finalize 12-12
        1 property Store.Size 13-13
        1 property Store.Twice 14-14
        1 property Store.this 15-15
        1 method Store.Put 16-16
        2 function Store.Put.Local 16-16
        1 method Store.Drop 17-17
        1 method Store.+ 18-18
        1 enum Store.Kind 19-19
        1 record Store.Pair 20-20
        1 type Store.Handler 21-21
        0 class Store~2 23-23
        1 method Store.Late 23-23
        0 interface IStore 24-24
        1 method IStore.Drop 24-24
        1 property IStore.Size 24-24
        0 record Point 25-25
        """,
    )
    assert heads(CSHARP, "csharp")["Store.Put"] == "public async Task<R> Put<R>(int a) where R : T"
    assert docs(CSHARP, "csharp")["Store"] == "Keeps Item."


RUBY = """\
#!/usr/bin/env ruby
# frozen_string_literal: true
module Site
  # Public: Keeps pages. More.
  #
  # @since 1
  class Store < Base
    # Not the head.
    MAX = 1
    Full = Class.new(StandardError)
    Pair = Struct.new(:a) do
      def sum; end
    end
    # Hidden.
    private def hidden(a) = 1
    def self.make(a, b = {})
      LOCAL = 1
    end
    def empty?; end
    def name=(value); end
    def ==(other); end
    class << self
      def meta; end
    end
  end
end
class Site::Store::Reader; end
def helper.run; end
"""


def test_ruby() -> None:
    check(
        RUBY,
        "ruby",
        """
        0 module Site 3-26
        1 class Site.Store 7-25
        2 constant Site.Store.MAX 9-9
        2 class Site.Store.Full 10-10
        2 class Site.Store.Pair 11-13
        3 method Site.Store.Pair.sum 12-12
        2 method Site.Store.hidden 15-15
        2 method Site.Store.make 16-18
        2 method Site.Store.empty? 19-19
        2 method Site.Store.name= 20-20
        2 method Site.Store.== 21-21
        2 method Site.Store.meta 23-23
        0 class Site.Store.Reader 27-27
        1 method helper.run 28-28
        """,
    )
    found = heads(RUBY, "ruby")
    assert found["Site.Store"] == "class Store < Base"
    assert found["Site.Store.Pair"] == "Pair = Struct.new(:a)"
    assert found["Site.Store.make"] == "def self.make(a, b = {})"
    said = docs(RUBY, "ruby")
    assert (said["Site"], said["Site.Store"], said["Site.Store.hidden"]) == (
        "",
        "Public: Keeps pages.",
        "Hidden.",
    )


PHP = """\
<?php
namespace App\\Stores;
const LIMIT = 1, OTHER = 2;
define('OLD', 3);
/** Keeps things. */
#[Service]
final class Store extends Base implements Reader {
  public const string KIND = 'x';
  private $size;
  public function __construct(private int $a) {}
  /** Puts one. */
  #[Pure]
  public static function put(int $a): ?int { return new class { function anonymous() {} }; }
}
interface Reader { function read(); }
trait Logs { function log() {} }
enum Suit: string { case A = 'a'; const B = 1; }
function &helper(array $a) {}
"""


def test_php() -> None:
    check(
        PHP,
        "php",
        """
        0 constant LIMIT 3-3
        0 constant OTHER 3-3
        0 constant OLD 4-4
        0 class Store 6-14
        1 constant Store.KIND 8-8
        1 method Store.__construct 10-10
        1 method Store.put 12-13
        2 method Store.put.anonymous 13-13
        0 interface Reader 15-15
        1 method Reader.read 15-15
        0 trait Logs 16-16
        1 method Logs.log 16-16
        0 enum Suit 17-17
        1 constant Suit.B 17-17
        0 function helper 18-18
        """,
    )
    assert heads(PHP, "php")["Store"] == "final class Store extends Base implements Reader"
    assert heads(PHP, "php")["Store.put"] == "public static function put(int $a): ?int"
    assert docs(PHP, "php")["Store.put"] == "Puts one."


KOTLIN = """\
package example
const val LIMIT = 1
var state: String = "a"
val String.last: Char get() = this[0]
typealias Names = List<String>
@Target(
  AnnotationTarget.CLASS,
)
annotation class Marker
/** Keeps things. */
@Suppress("a")
@Marker
data class Store<T>(val a: Int) : Base() {
  val plain = 1
  val twice: Int
    get() = 2
  constructor() : this(1)
  companion object {
    const val MAX = 1
    fun make() = Store(1)
  }
  suspend fun <R> put(a: R): R {
    fun inner() {}
    val in1 = open()
    in1.close()
  }
  fun String.quoted() = this
  enum class Kind {
    A;
    fun next() {}
  }
}
fun interface Reader {
  fun read()
}
object Single : Base() {
  val name = "a"
  fun run() {}
}
fun List<Int>.total(): Int = 1
fun <T> Store<T>?.orEmpty() = this
fun Store.Companion.other() {}
"""


def test_kotlin() -> None:
    check(
        KOTLIN,
        "kotlin",
        """
        0 constant LIMIT 2-2
        0 variable state 3-3
        1 property String.last 4-4
        0 type Names 5-5
        0 class Marker 6-9
        0 class Store 11-32
        1 property Store.twice 15-16
        1 method Store.constructor 17-17
        1 constant Store.MAX 19-19
        1 method Store.make 20-20
        1 method Store.put 22-26
        2 function Store.put.inner 23-23
        1 method Store.quoted 27-27
        1 enum Store.Kind 28-31
        2 method Store.Kind.next 30-30
        0 interface Reader 33-35
        1 method Reader.read 34-34
        0 object Single 36-39
        1 constant Single.name 37-37
        1 method Single.run 38-38
        1 method List.total 40-40
        1 method Store.orEmpty 41-41
        1 method Store.Companion.other 42-42
        """,
    )
    found = heads(KOTLIN, "kotlin")
    assert found["Marker"] == "annotation class Marker"
    assert found["Store"] == "data class Store<T>(val a: Int) : Base()"
    assert found["List.total"] == "fun List<Int>.total(): Int"
    assert docs(KOTLIN, "kotlin")["Store"] == "Keeps things."


SWIFT = """\
import Foundation
let limit = 1
public var computed: Int { 1 }
/// Keeps things.
@available(iOS 1, *)
public final class Store<T>: Base {
  static let max = 1
  var plain = 1
  var size: Int { get { 1 } }
  public init?(a: Int) { }
  deinit { }
  subscript(i: Int) -> Int { 1 }
  @discardableResult func put<R>(_ a: Int) async throws -> R where R: X { func inner() {} }
  static func == (a: Store, b: Store) -> Bool { true }
  enum Kind { case a }
}
actor Worker { }
protocol Reader: Base {
  associatedtype Item
  var size: Int { get }
  func read()
}
extension Store.Kind: Reader where T: X {
  func read() {}
}
extension Array<Int> {
  typealias Size = Int
}
func helper() -> Int { let local = 1; return local }
"""


def test_swift() -> None:
    check(
        SWIFT,
        "swift",
        """
        0 constant limit 2-2
        0 property computed 3-3
        0 class Store 5-16
        1 constant Store.max 7-7
        1 property Store.size 9-9
        1 method Store.init 10-10
        1 method Store.deinit 11-11
        1 method Store.subscript 12-12
        1 method Store.put 13-13
        2 function Store.put.inner 13-13
        1 method Store.== 14-14
        1 enum Store.Kind 15-15
        0 class Worker 17-17
        0 protocol Reader 18-22
        1 type Reader.Item 19-19
        1 property Reader.size 20-20
        1 method Reader.read 21-21
        1 method Store.Kind.read 24-24
        1 type Array.Size 27-27
        0 function helper 29-29
        """,
    )
    assert heads(SWIFT, "swift")["Store"] == "public final class Store<T>: Base"
    assert heads(SWIFT, "swift")["Store.put"] == "func put<R>(_ a: Int) async throws -> R where R: X"
    assert docs(SWIFT, "swift")["Store"] == "Keeps things."


SCALA = """\
package example
package object tools { val one = 1 }
/** Keeps things. */
@deprecated("a")
final case class Store[T](a: Int) extends Base {
  val plain = 1
  def this() = this(1)
  def put[R](a: R)(implicit b: X): R = {
    def inner = 1
    inner
  }
  def abstractly: Int
  type Item = Int
  override def +(other: Store): Store = other
}
object Store {
  val Max = 1
  def apply() = 1
}
trait Reader { def read(): Unit }
object Main extends App:
  def indented(a: Int): Int =
    a + 1
  def after = 2
enum Color:
  case Red
  def next = 1
extension (s: String)
  def quoted: String = s
given ordering: Ordering[Int] with
  def compare(a: Int) = 1
val top = 1
"""


def test_scala() -> None:
    check(
        SCALA,
        "scala",
        """
        0 object tools 2-2
        1 constant tools.one 2-2
        0 class Store 4-15
        1 method Store.this 7-7
        1 method Store.put 8-11
        2 function Store.put.inner 9-9
        1 method Store.abstractly 12-12
        1 type Store.Item 13-13
        1 method Store.+ 14-14
        0 object Store~2 16-19
        1 constant Store.Max 17-17
        1 method Store.apply 18-18
        0 trait Reader 20-20
        1 method Reader.read 20-20
        0 object Main 21-24
        1 method Main.indented 22-23
        1 method Main.after 24-24
        0 enum Color 25-27
        1 method Color.next 27-27
        1 method String.quoted 29-29
        0 object ordering 30-31
        1 method ordering.compare 31-31
        0 constant top 32-32
        """,
    )
    assert heads(SCALA, "scala")["Store"] == "final case class Store[T](a: Int) extends Base"
    assert heads(SCALA, "scala")["Store.put"] == "def put[R](a: R)(implicit b: X): R"
    assert docs(SCALA, "scala")["Store"] == "Keeps things."


LUA = """\
local M = {}
local other = require("other")
local LIMIT = 10
--- Sets it up. More.
-- @param a what
function M.setup(a, b)
  -- Nothing yet.
  local function inner() end
end
--[[ Runs it. ]]
function M:run() end
local function helper() return 1 end
M.assigned = function(x) end
local named = function() end
M.data = { 1 }
local Options = { check = function() end }
return { done = function() end }
"""


def test_lua() -> None:
    check(
        LUA,
        "lua",
        """
        0 variable M 1-1
        0 variable LIMIT 3-3
        1 function M.setup 6-9
        2 function M.setup.inner 8-8
        1 method M.run 11-11
        0 function helper 12-12
        1 function M.assigned 13-13
        0 function named 14-14
        1 variable M.data 15-15
        0 variable Options 16-16
        1 function Options.check 16-16
        0 function done 17-17
        """,
    )
    assert heads(LUA, "lua")["M.setup"] == "function M.setup(a, b)"
    said = docs(LUA, "lua")
    assert (said["M.setup"], said["M.run"]) == ("Sets it up.", "Runs it.")


BASH = """\
#!/bin/bash
readonly LIMIT=3
passing=1
export HOME_FOLDER="a"
# Says hello.
# shellcheck disable=SC2034
hello() {
  local name=x
  inner() { :; }
}
function later { :; }
[[ $OSTYPE == *@(bsd|darwin)* ]] || exit 1
if true; then
  store::put-one() ( : )
fi
"""


def test_bash() -> None:
    check(
        BASH,
        "bash",
        """
        0 constant LIMIT 2-2
        0 constant HOME_FOLDER 4-4
        0 function hello 7-10
        1 function hello.inner 9-9
        0 function later 11-11
        0 function store::put-one 14-14
        """,
    )
    assert heads(BASH, "bash")["hello"] == "hello()"
    assert docs(BASH, "bash")["hello"] == "Says hello."
    assert not parse_source(BASH.encode(), "bash").broken
