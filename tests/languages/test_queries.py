"""Each language's query finds the definitions of its files, with their qualified names, kinds and lines."""

from __future__ import annotations

from foveal.daemon.languages.shared.parse import parse_source

from tests.parse_cases import check, docs, heads, plain

RUST = """\
//! The crate.

/// Holds things. Many.
#[derive(Debug)]  #= 0 struct Stack to 7
// Kept small.
#[repr(C)]
pub struct Stack<T> { items: Vec<T> }
pub(crate) struct Unit;  #= 0 struct Unit
enum Shade { Dark, Light(u8) }  #= 0 enum Shade
pub trait Shape: Sized {  #= 0 trait Shape to 15
    const SIDES: usize;  #= 1 constant Shape.SIDES
    type Item;  #= 1 type Shape.Item
    fn area(&self) -> f64;  #= 1 method Shape.area
    fn name(&self) -> &str { "shape" }  #= 1 method Shape.name
}
impl<T> Stack<T>
where
    T: Clone,
{
    pub const MAX: usize = 1;  #= 1 constant Stack.MAX
    /// Makes one.
    #[inline]  #= 1 method Stack.new to 23
    pub async fn new() -> Self { fn inner() {} const LOCAL: u8 = 1; }  #= 2 function Stack.new.inner
}
impl<'a, T> std::fmt::Display for &'a mut shapes::Stack<T> { fn fmt(&self) {} }  #= 1 method Stack.fmt
impl Shape for [u8] { fn area(&self) {} }  #= 1 method [u8].area
mod tests { fn works() {} }  #= 0 module tests; 1 function tests.works
mod elsewhere;
pub const LIMIT: u32 = 3;  #= 0 constant LIMIT
static mut STATE: u8 = 1;  #= 0 variable STATE
type Alias<T> = Vec<T>;  #= 0 type Alias
macro_rules! stack { () => {} }  #= 0 macro stack
extern "C" { fn outside(a: i32); }  #= 0 function outside
"""


def test_rust() -> None:
    check(RUST, "rust")
    found = heads(RUST, "rust")
    assert found["Stack"] == "pub struct Stack<T>"
    assert found["Stack.new"] == "pub async fn new() -> Self"
    assert found["stack"] == "macro_rules! stack"
    assert docs(RUST, "rust")["Stack"] == "Holds things."
    assert docs(RUST, "rust")["Stack.new"] == "Makes one."


JAVA = """\
package org.example;
/** Keeps {@code Items}. More. */
@Deprecated  #= 0 class Store to 16
public class Store<T> extends Base {
  public static final int MAX = 1, MIN = 0;  #= 1 constant Store.MAX; 1 constant Store.MIN
  private int size;
  /** Makes one. */
  @Inject public Store(int size) {}  #= 1 method Store.Store
  @Override  #= 1 method Store.put to 10
  public <R> void put(R item) throws Full { new Runnable() { public void run() {} }; }
#= 2 method Store.put.run
  abstract void drop();  #= 1 method Store.drop
  enum Kind { A { void x() {} }, B }  #= 1 enum Store.Kind; 2 method Store.Kind.x
  interface Reader { int LIMIT = 1; void read(); }
#= 1 interface Store.Reader; 2 constant Store.Reader.LIMIT; 2 method Store.Reader.read
  record Point(int x) { Point { } }  #= 1 record Store.Point; 2 method Store.Point.Point
  @interface Marker { String value() default ""; }  #= 1 interface Store.Marker; 2 method Store.Marker.value
}
"""


def test_java() -> None:
    check(JAVA, "java")
    assert heads(JAVA, "java")["Store.put"] == "public <R> void put(R item) throws Full"
    assert docs(JAVA, "java")["Store"] == "Keeps Items."


C = """\
#ifndef STACK_H
#define STACK_H
/* The larger. */
#define MAX(a, b) \\  #= 0 macro MAX to 5
    ((a) > (b) ? (a) : (b))
#define LIMIT 3  #= 0 macro LIMIT
struct announced;
struct point { int x; };  #= 0 struct point
typedef struct { int a; } nameless;  #= 0 struct nameless
typedef struct tag { int a; } alias;  #= 0 type alias; 0 struct tag
typedef struct Same { int a; } Same;  #= 0 struct Same
typedef struct opaque opaque;  #= 0 type opaque
typedef int (*callback)(int, void *);  #= 0 type callback
typedef unsigned long word, *words;  #= 0 type word; 0 type words
enum color { RED };  #= 0 enum color
int later(int a);
char *next(void);  #= 0 prototype next
extern int shared;
static const char *const names[] = { "a" };  #= 0 constant names
int first = 1, *second, third[3];  #= 0 variable first; 0 variable second; 0 variable third
int (*hook)(int) = 0;  #= 0 variable hook
int shared = 2;  #= 0 variable shared
/** Pushes one.
 * @param a what
 */
static inline struct point *push(int a)  #= 0 function push to 32
{
    int local = 1;
    extern int elsewhere;
    int undone(int);
    return 0;
}
int later(int a) { return a; }  #= 0 function later
#ifdef FAST
#define LIMIT 4
void (*handler(int sig, void (*old)(int)))(int) { }  #= 0 function handler
#endif
#endif
"""


def test_c() -> None:
    check(C, "c")
    found = heads(C, "c")
    assert found["MAX"] == "#define MAX(a, b)"
    assert found["nameless"] == "typedef struct { … } nameless"
    assert found["push"] == "static inline struct point *push(int a)"
    assert docs(C, "c")["push"] == "Pushes one."


CPP = """\
namespace store {
namespace { int hidden() { return 1; } }  #= 0 function hidden
/// \\brief Keeps things.
template <typename T, class U>  #= 0 class Db to 21
class EXPORTED Db : public Base {
 public:
  explicit Db(int a) : a_(a) {}  #= 1 method Db.Db
  virtual ~Db();
  virtual Status Open(int a) = 0;
  static constexpr int kMax = 3;  #= 1 constant Db.kMax
  bool operator==(const Db& other) const { return true; }  #= 1 method Db.operator==
  int& ref();  #= 1 prototype Db.ref
  template <typename V> void put(V v) {}  #= 1 method Db.put
  struct Inner { void deep(); };  #= 1 struct Db.Inner; 2 prototype Db.Inner.deep
  enum class Kind : int { A };  #= 1 enum Db.Kind
  using Alias = int;  #= 1 type Db.Alias
  friend void stranger();
 private:
  int a_ GUARDED_BY(mutex_);
  void (*hook_)(int);
};
Db::~Db() {}  #= 1 method Db.~Db
Status Db<T>::Open(int a) const { Status local(a); return local; }  #= 1 method Db.Open
bool Db::Inner::operator<(const Inner& other) { return true; }  #= 1 method Db.Inner.operator<
Db::operator bool() const { return true; }  #= 1 method Db.operator bool
template <typename T> using List = std::vector<T>;  #= 0 type List
const std::string Db::kName = "x";  #= 1 constant Db.kName
std::string* Db::Name() { return nullptr; }  #= 1 method Db.Name
inline int later(int a);  #= 0 prototype later
}
class Announced;
TEST_F(DbTest, Opens) { int x = 1; }  #= 1 method DbTest.Opens
"""


def test_cpp() -> None:
    check(CPP, "cpp")
    found = heads(CPP, "cpp")
    assert found["Db"] == "template <typename T, class U>\nclass EXPORTED Db : public Base"
    assert found["Db.Db"] == "explicit Db(int a)"
    assert docs(CPP, "cpp")["Db"] == "Keeps things."


def test_a_header_of_c_may_hold_cpp() -> None:
    check("class Stack {  #= 0 class Stack to 3\n  void push();  #= 1 prototype Stack.push\n};\n", "c")
    check("int class_of(struct class *a);  #= 0 prototype class_of\n", "c")


CSHARP = """\
namespace Example.Stores {
/// <summary>
/// Keeps <see cref="T:Item"/>. More.
/// </summary>
[Serializable]  #= 0 class Store to 22
public partial class Store<T> : Base where T : class {
  public const int Max = 1;  #= 1 constant Store.Max
  private static readonly int Min = 1, Other = 2;  #= 1 constant Store.Min; 1 constant Store.Other
  private int size;
  public event EventHandler Changed;  #= 1 event Store.Changed
  public Store(int a) : base(a) { }  #= 1 method Store.Store
  ~Store() {}  #= 1 method Store.Finalize
  public int Size { get; set; } = 3;  #= 1 property Store.Size
  public int Twice => 2;  #= 1 property Store.Twice
  public int this[int i] => 1;  #= 1 property Store.this
  [Fact] public async Task<R> Put<R>(int a) where R : T { void Local() {} return 1; }
#= 1 method Store.Put; 2 function Store.Put.Local
  void IStore.Drop() {}  #= 1 method Store.Drop
  public static Store<T> operator +(Store<T> a, int b) => a;  #= 1 method Store.+
  enum Kind { A }  #= 1 enum Store.Kind
  record Pair(int A);  #= 1 record Store.Pair
  delegate void Handler(int a);  #= 1 type Store.Handler
}
partial class Store<T> { void Late() {} }  #= 0 class Store~2; 1 method Store.Late
interface IStore { void Drop(); int Size { get; } }
#= 0 interface IStore; 1 method IStore.Drop; 1 property IStore.Size
public record struct Point(int X) { }  #= 0 record Point
}
"""


def test_csharp() -> None:
    check(CSHARP, "csharp")
    assert heads(CSHARP, "csharp")["Store.Put"] == "public async Task<R> Put<R>(int a) where R : T"
    assert docs(CSHARP, "csharp")["Store"] == "Keeps Item."


RUBY = """\
#!/usr/bin/env ruby
# frozen_string_literal: true
module Site  #= 0 module Site to 26
  # Public: Keeps pages. More.
  #
  # @since 1
  class Store < Base  #= 1 class Site.Store to 25
    # Not the head.
    MAX = 1  #= 2 constant Site.Store.MAX
    Full = Class.new(StandardError)  #= 2 class Site.Store.Full
    Pair = Struct.new(:a) do  #= 2 class Site.Store.Pair to 13
      def sum; end  #= 3 method Site.Store.Pair.sum
    end
    # Hidden.
    private def hidden(a) = 1  #= 2 method Site.Store.hidden
    def self.make(a, b = {})  #= 2 method Site.Store.make to 18
      LOCAL = 1
    end
    def empty?; end  #= 2 method Site.Store.empty?
    def name=(value); end  #= 2 method Site.Store.name=
    def ==(other); end  #= 2 method Site.Store.==
    class << self
      def meta; end  #= 2 method Site.Store.meta
    end
  end
end
class Site::Store::Reader; end  #= 0 class Site.Store.Reader
def helper.run; end  #= 1 method helper.run
"""


def test_ruby() -> None:
    check(RUBY, "ruby")
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
const LIMIT = 1, OTHER = 2;  #= 0 constant LIMIT; 0 constant OTHER
define('OLD', 3);  #= 0 constant OLD
/** Keeps things. */
#[Service]  #= 0 class Store to 14
final class Store extends Base implements Reader {
  public const string KIND = 'x';  #= 1 constant Store.KIND
  private $size;
  public function __construct(private int $a) {}  #= 1 method Store.__construct
  /** Puts one. */
  #[Pure]  #= 1 method Store.put to 13
  public static function put(int $a): ?int { return new class { function anonymous() {} }; }
#= 2 method Store.put.anonymous
}
interface Reader { function read(); }  #= 0 interface Reader; 1 method Reader.read
trait Logs { function log() {} }  #= 0 trait Logs; 1 method Logs.log
enum Suit: string { case A = 'a'; const B = 1; }  #= 0 enum Suit; 1 constant Suit.B
function &helper(array $a) {}  #= 0 function helper
"""


def test_php() -> None:
    check(PHP, "php")
    assert heads(PHP, "php")["Store"] == "final class Store extends Base implements Reader"
    assert heads(PHP, "php")["Store.put"] == "public static function put(int $a): ?int"
    assert docs(PHP, "php")["Store.put"] == "Puts one."


KOTLIN = """\
package example
const val LIMIT = 1  #= 0 constant LIMIT
var state: String = "a"  #= 0 variable state
val String.last: Char get() = this[0]  #= 1 property String.last
typealias Names = List<String>  #= 0 type Names
@Target(  #= 0 class Marker to 9
  AnnotationTarget.CLASS,
)
annotation class Marker
/** Keeps things. */
@Suppress("a")  #= 0 class Store to 32
@Marker
data class Store<T>(val a: Int) : Base() {
  val plain = 1
  val twice: Int  #= 1 property Store.twice to 16
    get() = 2
  constructor() : this(1)  #= 1 method Store.constructor
  companion object {
    const val MAX = 1  #= 1 constant Store.MAX
    fun make() = Store(1)  #= 1 method Store.make
  }
  suspend fun <R> put(a: R): R {  #= 1 method Store.put to 26
    fun inner() {}  #= 2 function Store.put.inner
    val in1 = open()
    in1.close()
  }
  fun String.quoted() = this  #= 1 method Store.quoted
  enum class Kind {  #= 1 enum Store.Kind to 31
    A;
    fun next() {}  #= 2 method Store.Kind.next
  }
}
fun interface Reader {  #= 0 interface Reader to 35
  fun read()  #= 1 method Reader.read
}
object Single : Base() {  #= 0 object Single to 39
  val name = "a"  #= 1 constant Single.name
  fun run() {}  #= 1 method Single.run
}
fun List<Int>.total(): Int = 1  #= 1 method List.total
fun <T> Store<T>?.orEmpty() = this  #= 1 method Store.orEmpty
fun Store.Companion.other() {}  #= 1 method Store.Companion.other
"""


def test_kotlin() -> None:
    check(KOTLIN, "kotlin")
    found = heads(KOTLIN, "kotlin")
    assert found["Marker"] == "annotation class Marker"
    assert found["Store"] == "data class Store<T>(val a: Int) : Base()"
    assert found["List.total"] == "fun List<Int>.total(): Int"
    assert docs(KOTLIN, "kotlin")["Store"] == "Keeps things."


SWIFT = """\
import Foundation
let limit = 1  #= 0 constant limit
public var computed: Int { 1 }  #= 0 property computed
/// Keeps things.
@available(iOS 1, *)  #= 0 class Store to 16
public final class Store<T>: Base {
  static let max = 1  #= 1 constant Store.max
  var plain = 1
  var size: Int { get { 1 } }  #= 1 property Store.size
  public init?(a: Int) { }  #= 1 method Store.init
  deinit { }  #= 1 method Store.deinit
  subscript(i: Int) -> Int { 1 }  #= 1 method Store.subscript
  @discardableResult func put<R>(_ a: Int) async throws -> R where R: X { func inner() {} }
#= 1 method Store.put; 2 function Store.put.inner
  static func == (a: Store, b: Store) -> Bool { true }  #= 1 method Store.==
  enum Kind { case a }  #= 1 enum Store.Kind
}
actor Worker { }  #= 0 class Worker
protocol Reader: Base {  #= 0 protocol Reader to 22
  associatedtype Item  #= 1 type Reader.Item
  var size: Int { get }  #= 1 property Reader.size
  func read()  #= 1 method Reader.read
}
extension Store.Kind: Reader where T: X {
  func read() {}  #= 1 method Store.Kind.read
}
extension Array<Int> {
  typealias Size = Int  #= 1 type Array.Size
}
func helper() -> Int { let local = 1; return local }  #= 0 function helper
"""


def test_swift() -> None:
    check(SWIFT, "swift")
    assert heads(SWIFT, "swift")["Store"] == "public final class Store<T>: Base"
    assert heads(SWIFT, "swift")["Store.put"] == "func put<R>(_ a: Int) async throws -> R where R: X"
    assert docs(SWIFT, "swift")["Store"] == "Keeps things."


SCALA = """\
package example
package object tools { val one = 1 }  #= 0 object tools; 1 constant tools.one
/** Keeps things. */
@deprecated("a")  #= 0 class Store to 15
final case class Store[T](a: Int) extends Base {
  val plain = 1
  def this() = this(1)  #= 1 method Store.this
  def put[R](a: R)(implicit b: X): R = {  #= 1 method Store.put to 11
    def inner = 1  #= 2 function Store.put.inner
    inner
  }
  def abstractly: Int  #= 1 method Store.abstractly
  type Item = Int  #= 1 type Store.Item
  override def +(other: Store): Store = other  #= 1 method Store.+
}
object Store {  #= 0 object Store~2 to 19
  val Max = 1  #= 1 constant Store.Max
  def apply() = 1  #= 1 method Store.apply
}
trait Reader { def read(): Unit }  #= 0 trait Reader; 1 method Reader.read
object Main extends App:  #= 0 object Main to 24
  def indented(a: Int): Int =  #= 1 method Main.indented to 23
    a + 1
  def after = 2  #= 1 method Main.after
enum Color:  #= 0 enum Color to 27
  case Red
  def next = 1  #= 1 method Color.next
extension (s: String)
  def quoted: String = s  #= 1 method String.quoted
given ordering: Ordering[Int] with  #= 0 object ordering to 31
  def compare(a: Int) = 1  #= 1 method ordering.compare
val top = 1  #= 0 constant top
"""


def test_scala() -> None:
    check(SCALA, "scala")
    assert heads(SCALA, "scala")["Store"] == "final case class Store[T](a: Int) extends Base"
    assert heads(SCALA, "scala")["Store.put"] == "def put[R](a: R)(implicit b: X): R"
    assert docs(SCALA, "scala")["Store"] == "Keeps things."


LUA = """\
local M = {}  #= 0 variable M
local other = require("other")
local LIMIT = 10  #= 0 variable LIMIT
--- Sets it up. More.
-- @param a what
function M.setup(a, b)  #= 1 function M.setup to 9
  -- Nothing yet.
  local function inner() end  #= 2 function M.setup.inner
end
--[[ Runs it. ]]
function M:run() end  #= 1 method M.run
local function helper() return 1 end  #= 0 function helper
M.assigned = function(x) end  #= 1 function M.assigned
local named = function() end  #= 0 function named
M.data = { 1 }  #= 1 variable M.data
local Options = { check = function() end }  #= 0 variable Options; 1 function Options.check
return { done = function() end }  #= 0 function done
"""


def test_lua() -> None:
    check(LUA, "lua")
    assert heads(LUA, "lua")["M.setup"] == "function M.setup(a, b)"
    said = docs(LUA, "lua")
    assert (said["M.setup"], said["M.run"]) == ("Sets it up.", "Runs it.")


BASH = """\
#!/bin/bash
readonly LIMIT=3  #= 0 constant LIMIT
passing=1
export HOME_FOLDER="a"  #= 0 constant HOME_FOLDER
# Says hello.
# shellcheck disable=SC2034
hello() {  #= 0 function hello to 10
  local name=x
  inner() { :; }  #= 1 function hello.inner
}
function later { :; }  #= 0 function later
[[ $OSTYPE == *@(bsd|darwin)* ]] || exit 1
if true; then
  store::put-one() ( : )  #= 0 function store::put-one
fi
"""


def test_bash() -> None:
    check(BASH, "bash")
    assert heads(BASH, "bash")["hello"] == "hello()"
    assert docs(BASH, "bash")["hello"] == "Says hello."
    assert not parse_source(plain(BASH), "bash").broken
