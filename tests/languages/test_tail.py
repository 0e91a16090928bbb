"""The languages of the tables: definitions, signatures, documentation, and calls by name."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from foveal.daemon.languages import tail
from foveal.daemon.languages.shared import grammar_bundle
from foveal.daemon.languages.shared.language import LANGUAGES
from foveal.daemon.languages.shared.parse import parse_source

from tests.parse_cases import check, docs, heads, plain

CASES = {
    "bazel": r"""load("@rules_cc//cc:defs.bzl", "cc_library")
def _impl(ctx):  #= 0 function _impl to 3
    return make(ctx)
cc_library(  #= 0 target parser to 7
    name = "parser",
    srcs = ["parser.cc"],
)
""",
    "clojure": r"""(ns shop.cart (:require [clojure.string :as str]))  #= 0 namespace shop.cart
(def ^:private limit 3)  #= 0 variable limit
(defn total  #= 0 function total to 6
  "Sums the prices. Rounds."
  [items]
  (reduce add-price 0 items))
(defmacro with-cart [& body] `(do ~@body))  #= 0 macro with-cart
(defprotocol Store (save [this cart]))  #= 0 interface Store; 1 method Store.save
(defrecord Memory [state]  #= 0 class Memory to 11
  Store
  (save [this cart] (swap! state conj cart)))  #= 1 method Memory.save
(defmulti tax :country)  #= 0 function tax
(defmethod tax :de [order] (str/join (total order)))  #= 0 function tax~2
""",
    "cmake": r"""# Adds a plugin.
function(add_plugin name)  #= 0 function add_plugin to 4
  target_link_libraries(${name} core)
endfunction()
macro(once)  #= 0 macro once to 6
endmacro()
add_library(core core.c)  #= 0 target core
add_plugin(zip)
""",
    "cuda": r"""__constant__ float weights[3];  #= 0 variable weights
template <class T> __device__ __forceinline__ T scaled(T x) { return x; }  #= 0 function scaled
// Adds two vectors.
__global__ void __launch_bounds__(256) add(const float *a, float *b) { b[0] = scaled(a[0]); }  #= 0 function add
void run(float *a, float *b) {  #= 0 function run to 7
  add<<<dim3(1), dim3(256), 0, stream>>>(a, b);
}
""",
    "dart": r"""import 'package:shop/base.dart';
/// A cart. With items.
abstract class Cart<T> extends Base with Logged implements Store {  #= 0 class Cart to 14
  static const int limit = 3;  #= 1 constant Cart.limit
  Cart(this.items);  #= 1 method Cart.Cart
  const Cart.empty();  #= 1 method Cart.empty
  factory Cart.of(List<T> items) => Cart(items);  #= 1 method Cart.of
  int get length => items.length;  #= 1 method Cart.length
  static Future<void> load(int id, {String? from}) async {  #= 1 method Cart.load to 11
    await store.fetch(id);
  }
  bool operator ==(Object other) => same(other);  #= 1 method Cart.==
  void clear();  #= 1 method Cart.clear
}
mixin Logged on Base { void log() {} }  #= 0 class Logged; 1 method Logged.log
enum Shade { dark, light; int code() => 1; }  #= 0 enum Shade; 1 method Shade.code
extension Names on String { int parts() => 1; }  #= 0 class Names; 1 method Names.parts
typedef Check = bool Function(int);  #= 0 type Check
void main() {  #= 0 function main to 22
  final cart = new Cart(3);
  cart..add(1);
}
const version = '1';  #= 0 constant version
""",
    "erlang": r"""-module(cart).  #= 0 module cart
-record(item, {name, price :: integer()}).  #= 0 record item
-define(LIMIT, 3).  #= 0 macro LIMIT
-type price() :: integer().  #= 0 type price
-callback init(term()) -> ok.  #= 0 prototype init
%% Sums the items.
-spec total([tuple()]) -> integer().  #= 0 function total to 10
total([]) -> 0;
total([Item|Rest]) when Item > 0 ->
    price(Item) + lists:foldl(fun add/2, ?LIMIT, Rest).
total(Item, Tax) -> Item * Tax.  #= 0 function total~2
price(#item{price=P}) -> P.  #= 0 function price~2
""",
    "fortran": r"""!> Sums.
module sums  #= 0 module sums to 16
  use, intrinsic :: iso_fortran_env
  type :: total  #= 1 struct sums.total to 8
    integer :: value
  contains
    procedure :: add => add_value
  end type
contains
  subroutine add_value(self, x)  #= 1 function sums.add_value to 12
    call check(x)
  end subroutine
  pure function twice(x) result(y)  #= 1 function sums.twice to 15
    y = scaled(x)
  end function
end module
""",
    "graphql": r'''"""A product. For sale."""  #= 0 type Product to 4
type Product implements Node & Priced {
  name(lang: String): String!  #= 1 property Product.name
}
input Filter { name: String }  #= 0 type Filter
enum Shade { DARK }  #= 0 enum Shade
interface Node { id: ID }  #= 0 interface Node; 1 property Node.id
union Found = Product | Other  #= 0 union Found
scalar Date  #= 0 type Date
directive @cached on FIELD  #= 0 function cached
extend type Query { product: Product }  #= 0 type Query; 1 property Query.product
query Find($id: ID) { product(id: $id) { ...Parts } }  #= 0 query Find
fragment Parts on Product { name }  #= 0 query Parts
''',
    "groovy": r"""package shop
/** A cart. More. */
@CompileStatic  #= 0 class Cart to 21
class Cart extends Base implements Store, Named {
  Cart(int id) {  #= 1 method Cart.Cart to 7
    this.id = id
  }
  @Override  #= 1 method Cart.load to 12
  Map<?, String> load(Class<?> type) {
    helper(type)
    store.fetch(1)
  }
  def "sums the prices"() {  #= 1 method Cart.sums the prices to 16
    expect:
    1 == 1
  }
  def broken() {  #= 1 method Cart.broken to 19
    x = { -> ) }
  }
  static void main(String[] args) { println "x" }  #= 1 method Cart.main
}
trait Logged {  #= 0 class Logged to 24
  void log() {}  #= 1 method Logged.log
}
def top(a) { a }  #= 0 function top
""",
    "haskell": r"""module Cart (total) where
import qualified Data.Map as Map
-- | A cart. With items.
data Cart a = Empty | Full { items :: [a] } deriving Show  #= 0 type Cart
newtype Price = Price Int  #= 0 type Price
type Name = String  #= 0 type Name
class Store s where  #= 0 class Store to 9
  save :: s -> Int  #= 1 method Store.save to 9
  save _ = 1
instance Store (Cart a) where
  save cart = size cart  #= 1 method (Cart a).save
-- | Sums.
total :: [Int] -> Int  #= 0 function total to 16
total [] = 0
total (x : xs) = Map.lookup x $ add (twice x) `plus` total xs
  where twice y = y
x <+> y = x  #= 0 function <+>
limit = 3  #= 0 function limit
""",
    "hcl": r"""# Keeps the logs.
resource "aws_s3_bucket" "logs" {  #= 0 block resource.aws_s3_bucket.logs to 5
  bucket = var.name
  tags   = merge(local.tags, { a = 1 })
}
data "aws_region" "here" {}  #= 0 block data.aws_region.here
variable "name" { type = string }  #= 0 block variable.name
output "id" { value = aws_s3_bucket.logs.id }  #= 0 block output.id
module "vpc" { source = "./vpc" }  #= 0 block module.vpc
locals {  #= 0 block locals to 12
  tags = {}  #= 1 variable locals.tags
}
""",
    "julia": r'''module Carts  #= 0 module Carts to 20
using Dates
"""
A cart.
"""
struct Cart{T} <: Store  #= 1 struct Carts.Cart to 9
    items::Vector{T}
    Cart(x) = new(x)  #= 2 method Carts.Cart.Cart
end
abstract type Store end  #= 1 type Carts.Store
const LIMIT = 3  #= 1 constant Carts.LIMIT
# Sums the items.
function total(cart::Cart, tax=1)::Int where T  #= 1 function Carts.total to 16
    price(cart); Dates.now()
    map.(cart)
end
Base.show(io::IO, cart::Cart) = print(io)  #= 1 function Carts.Base.show
macro once(ex) ex end  #= 1 macro Carts.once
@inline function fast(x) x end  #= 1 function Carts.fast
end
''',
    "nix": r"""{ lib, ... }:
let
  # Joins names.
  joined = sep: names: lib.concatStringsSep sep names;  #= 0 function joined
in {
  mk = { name }: joined "-" name;  #= 0 function mk
  enable = true;
}
""",
    "objective-c": r"""#import "Cart.h"
NS_ASSUME_NONNULL_BEGIN
typedef NS_ENUM(NSInteger, Shade) { ShadeDark };  #= 0 enum Shade
@protocol Store <NSObject>  #= 0 protocol Store to 6
- (void)save:(int)code;  #= 1 prototype Store.save
@end
/// A cart. With items.
@interface Cart : Base <Store>  #= 0 class Cart to 11
@property (nonatomic, copy) NSString *name;  #= 1 property Cart.name
- (instancetype)initWithName:(NSString *)name code:(int)code NS_DESIGNATED_INITIALIZER;
@end
@implementation Cart  #= 0 class Cart~2 to 20
- (instancetype)initWithName:(NSString *)name code:(int)code {  #= 1 method Cart.initWithName to 16
  [self setName:name];
  return checked(self);
}
+ (void)clear {  #= 1 method Cart.clear to 19
  run(^ NSURL * (int a, int b) { return a; });
}
@end
static int checked(int x) { return x; }  #= 0 function checked
""",
    "ocaml": r"""open Base
(** Sums the items. Slowly. *)
let rec total ~tax items =  #= 0 function total to 4
  add (Price.of_items items) |> List.map twice
and twice = function 0 -> 0 | x -> x  #= 0 function twice
let limit = 3  #= 0 constant limit
type cart = Empty | Full of int  #= 0 type cart
exception Broken of string  #= 0 type Broken
module Price = struct  #= 0 module Price to 11
  let of_items x = fold x  #= 1 function Price.of_items
end
module type Store = sig  #= 0 interface Store to 14
  val save : int -> int  #= 1 prototype Store.save
end
external fast : int -> int = "fast"  #= 0 function fast
let () = total 1
""",
    "perl": r"""package Shop::Cart;  #= 0 module Shop::Cart
use Mojo::Base 'Shop::Base', -signatures;
use constant LIMIT => 3;  #= 0 constant LIMIT
# Makes one.
sub new ($class, %args) {  #= 0 function new to 9
  helper(1);
  $class->load(2);
  return Shop::made(3);
}
sub broken {  #= 0 function broken to 12
  my $x = (((;
}
sub or { 1 }  #= 0 function or
sub last_one { 1 }  #= 0 function last_one
1;
""",
    "powershell": r"""<#
Gets a cart.
#>
function Get-Cart {  #= 0 function Get-Cart to 9
    param([string]$Name)
    Write-Host $Name
    $x.Load(1)
    & Invoke-Store -Name 1
}
filter Select-Item { $_ }  #= 0 function Select-Item
function script:Set-Cart($Name) { }  #= 0 function Set-Cart
class Cart : Base {  #= 0 class Cart to 16
    [int]$Size
    Cart() { }  #= 1 method Cart.Cart
    [void] Add([int]$a) { Update-Cart }  #= 1 method Cart.Add
}
enum Shade { Dark; Light }  #= 0 enum Shade
""",
    "protobuf": r"""syntax = "proto2";
package shop;
// A cart. With items.
message Cart {  #= 0 struct Cart to 9
  required int32 id = 1;
  extensions 100 to 199;
  message Item {}  #= 1 struct Cart.Item
  enum Shade { DARK = 0; }  #= 1 enum Cart.Shade
}
extend Cart { optional int32 more = 100; }
service Carts {  #= 0 interface Carts to 13
  rpc Get(Cart) returns (stream Item);  #= 1 method Carts.Get
}
""",
    "r": r"""#' Sums the items.
#' @export
total <- function(items, ...) { add(items); dplyr::mutate(items); UseMethod("total") }  #= 0 function total
total.default = function(items) items  #= 0 function total.default
`[.cart` <- function(x, i) x$get(i)  #= 0 function [.cart
setClass("Cart", representation(size = "numeric"))  #= 0 class Cart
setGeneric("area", function(s) standardGeneric("area"))  #= 0 function area
LIMIT <- 3  #= 0 variable LIMIT
Store <- R6Class("Store", public = list(  #= 0 class Store to 11
  save = function(x) write(x)  #= 1 method Store.save
))
""",
    "solidity": r"""pragma solidity ^0.8;
/// A vault. With coins.
contract Vault is Base, Named(1) {  #= 0 class Vault to 13
  uint256 public size;  #= 1 variable Vault.size
  struct Coin { uint value; }  #= 1 struct Vault.Coin
  enum Shade { Dark }  #= 1 enum Vault.Shade
  event Saved(uint a);  #= 1 event Vault.Saved
  error Full(uint a);  #= 1 error Vault.Full
  modifier only() { _; }  #= 1 method Vault.only
  constructor(uint a) Base(a) {}  #= 1 method Vault.constructor
  function save(uint a) public only returns (uint) { emit Saved(a); add(a); Lib.sum(1); revert Full(1); }  #= 1 method Vault.save
  receive() external payable {}  #= 1 method Vault.fallback
}
interface Named { function name() external; }  #= 0 interface Named; 1 method Named.name
library Lib { function sum(uint a) internal {} }  #= 0 class Lib; 1 method Lib.sum
function free(uint a) {}  #= 0 function free
type Price is uint;  #= 0 type Price
""",
    "sql": r"""-- All users.
CREATE TABLE IF NOT EXISTS public.users (  #= 0 table public.users to 4
  id int primary key, owner int references owners(id)
);
CREATE TABLE [Sales] ([Id] int);  #= 0 table Sales
CREATE OR REPLACE VIEW active AS SELECT * FROM users JOIN owners ON true;  #= 0 view active
CREATE MATERIALIZED VIEW daily AS SELECT 1;  #= 0 view daily
CREATE UNIQUE INDEX by_id ON users (id);  #= 0 index by_id
CREATE FUNCTION total(a int) RETURNS int AS $$ BEGIN RETURN twice(a); END $$ LANGUAGE plpgsql;  #= 0 function total
CREATE TRIGGER changed BEFORE INSERT ON users FOR EACH ROW EXECUTE FUNCTION total();  #= 0 trigger changed
CREATE TYPE shade AS ENUM ('dark', 'light');  #= 0 type shade
""",
    "zig": r"""const std = @import("std");
/// A cart. With items.
pub const Cart = struct {  #= 0 struct Cart to 7
    size: u8,
    pub fn init(size: u8) Cart { return checked(size); }  #= 1 method Cart.init
    const Shade = enum { dark, light };  #= 1 enum Cart.Shade
};
const Failure = error{Full};  #= 0 type Failure
const Either = union(enum) { a: u8 };  #= 0 union Either
var count: u32 = 0;  #= 0 variable count
pub fn main() !void {  #= 0 function main to 13
    Cart.init(1).add();
}
fn List(comptime T: type) type {  #= 0 function List to 16
    return struct { fn push(self: @This()) void {} };  #= 1 function List.push
}
extern fn outside(a: c_int) void;  #= 0 function outside
""",
}
"""By language: a source whose lines are marked with the definitions that begin in them."""

CALLS = {
    "bazel": "load make cc_library",
    "clojure": "reduce swap! join total",
    "cmake": "target_link_libraries add_library add_plugin",
    "cuda": "scaled add",
    "dart": "Base Logged Store Cart fetch same add",
    "erlang": "integer term tuple price foldl",
    "fortran": "check scaled",
    "graphql": "Node Priced",
    "groovy": "Base helper fetch println",
    "haskell": "size lookup add twice total",
    "hcl": "merge",
    "julia": "new price now map print inline",
    "nix": "concatStringsSep joined",
    "objective-c": "NSObject Base setName checked run",
    "ocaml": "add of_items map fold total",
    "perl": "helper load made",
    "powershell": "Write-Host Load Invoke-Store Update-Cart",
    "protobuf": "",
    "r": "add mutate UseMethod get setClass representation setGeneric standardGeneric R6Class list write",
    "solidity": "Base Named only Saved add sum Full",
    "sql": "twice total",
    "zig": "checked init add",
}
"""By language: the names that the source calls or inherits from, in order."""

HEADS = {
    "bazel": ("_impl", "def _impl(ctx):", ""),
    "clojure": ("total", '(defn total\n  "Sums the prices. Rounds."\n  [items]', "Sums the prices."),
    "cmake": ("add_plugin", "function(add_plugin name)", "Adds a plugin."),
    "cuda": (
        "add",
        "__global__ void __launch_bounds__(256) add(const float *a, float *b)",
        "Adds two vectors.",
    ),
    "dart": ("Cart", "abstract class Cart<T> extends Base with Logged implements Store", "A cart."),
    "erlang": ("total", "-spec total([tuple()]) -> integer().", "Sums the items."),
    "fortran": ("sums.twice", "pure function twice(x) result(y)", ""),
    "graphql": ("Product", "type Product implements Node & Priced", "A product."),
    "groovy": ("Cart", "@CompileStatic\nclass Cart extends Base implements Store, Named", "A cart."),
    "haskell": ("total", "total :: [Int] -> Int", "Sums."),
    "hcl": ("resource.aws_s3_bucket.logs", 'resource "aws_s3_bucket" "logs"', "Keeps the logs."),
    "julia": ("Carts.Cart", "struct Cart{T} <: Store", "A cart."),
    "nix": ("joined", "joined = sep: names: lib.concatStringsSep sep names;", "Joins names."),
    "objective-c": ("Cart", "@interface Cart : Base", "A cart."),
    "ocaml": ("total", "let rec total ~tax items =", "Sums the items."),
    "perl": ("new", "sub new ($class, %args)", "Makes one."),
    "powershell": ("Get-Cart", "function Get-Cart", "Gets a cart."),
    "protobuf": ("Cart", "message Cart", "A cart."),
    "r": ("total", "total <- function(items, ...)", "Sums the items."),
    "solidity": ("Vault", "contract Vault is Base, Named(1)", "A vault."),
    "sql": ("public.users", "CREATE TABLE IF NOT EXISTS public.users", "All users."),
    "zig": ("Cart", "pub const Cart = struct", "A cart."),
}
"""By language: a definition with its signature and its documentation."""


def test_every_language_of_the_tables_has_its_cases() -> None:
    languages = {row.name for row in tail.LANGUAGES}
    assert len(languages) >= 20
    assert languages == set(CASES) == set(CALLS) == set(HEADS)


@pytest.mark.parametrize("language", CASES)
def test_definitions_and_calls_of_a_language(language: str) -> None:
    source = CASES[language]
    check(source, language)
    name, head, doc = HEADS[language]
    assert (heads(source, language)[name], docs(source, language)[name]) == (head, doc)
    references = parse_source(plain(source), language).references.references
    called = dict.fromkeys(each.chain for each in references if each.kind in ("call", "inherit"))
    assert " ".join(chain.removeprefix("?.") for chain in called) == CALLS[language]


def test_a_cache_that_cannot_be_written_leaves_no_file_without_definitions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    (tmp_path / "foveal").write_text("no folder")
    (temporary := tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    assert grammar_bundle.load_grammar("zig")
    assert not list(temporary.iterdir())


def test_a_grammar_that_is_missing_leaves_a_file_without_definitions() -> None:
    with pytest.raises(grammar_bundle.GrammarMissing, match="the grammar of none"):
        grammar_bundle.load_grammar("none")
    code = "import platform; platform.machine = lambda: 'none'; from foveal.daemon.languages.shared.parse import parse_source as p; print(p(b'fn a() void {}', 'zig'))"
    found = subprocess.run(
        [sys.executable, "-c", code], env=os.environ, capture_output=True, text=True, check=True
    )
    assert found.stdout.startswith("ParsedFile(symbols=(), imports=(), lines=1, broken=False")
    assert "the grammar of zig can't be loaded" in found.stderr


def test_only_so_many_bodies_are_tried() -> None:
    tried: list[bytes] = []
    overwrite = LANGUAGES["groovy"].readable_parts
    assert overwrite is not None

    def is_readable(part: bytes) -> bool:
        tried.append(part)
        return True

    overwrite(b"f() {\n x\n}\n" * (tail.HEADS_MAX + 9), is_readable)
    assert len(tried) == tail.HEADS_MAX


def test_a_damaged_library_is_unpacked_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half a library, as a crash leaves one, would end the process that loads it."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    grammar_bundle.load_grammar("proto")
    (library,) = (tmp_path / "foveal" / "grammars").iterdir()
    whole = library.read_bytes()
    copy = tmp_path / "copy"
    library.rename(copy)  # the loaded one stays as it is
    library.write_bytes(whole[: len(whole) // 2])
    grammar_bundle.load_grammar("proto")
    assert library.read_bytes() == whole
    assert library.stat().st_mode & 0o077 == 0
    assert library.parent.stat().st_mode & 0o077 == 0
