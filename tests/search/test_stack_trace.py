"""Stack traces and compiler output of each language lead to files, the most telling place first."""

from __future__ import annotations

import pytest
from foveal.daemon.search.stack_trace import frames_in, is_trace_line, read_frame

PYTHON = """Traceback (most recent call last):
  File "/srv/app/shop/views/cart.py", line 88, in checkout
    total = cart.total(currency)
  File "/usr/lib/python3.11/site-packages/forms/bind.py", line 141, in bind
    return self.inner(value)
  File "/srv/app/shop/models/line.py", line 37, in price
    rate = RATES[currency]
KeyError: 'CHF'"""

JAVASCRIPT = """TypeError: Cannot read properties of undefined (reading 'id')
    at Object.render (/home/kim/app/src/views/cart.tsx:41:17)
    at async Router.run (file:///home/kim/app/src/router.ts:10:5)
    at /home/kim/app/node_modules/server/lib/index.js:284:15
    at new Promise (<anonymous>)
    at process.processTicksAndRejections (node:internal/process/task_queues:95:5)"""

BUNDLED = """Error: no store
    at eval (webpack-internal:///./src/store.ts:12:3)
    at C:\\proj\\shop\\src\\main.js:3:1"""

FIREFOX = """render@http://localhost:3000/src/cart.js:41:17
@webpack:///./src/main.js:3:1"""

GO = """panic: runtime error: invalid memory address or nil pointer dereference

goroutine 19 [running]:
panic({0x1, 0x2})
\t/usr/local/go/src/runtime/panic.go:884 +0x1d
example.org/kim/store/wal.(*Log).Append(0x0, {0xc0, 0x1})
\t/home/kim/store/wal/log.go:310 +0x1d
main.main()
\t/home/kim/store/main.go:22 +0x85"""

RUST = """thread 'main' panicked at crates/codec/src/frame.rs:57:20:
called `Option::unwrap()` on a `None` value
stack backtrace:
   0: rust_begin_unwind
             at /rustc/25ef9e3d/library/std/src/panicking.rs:647:5
   1: codec::frame::Frame::decode
             at ./crates/codec/src/frame.rs:57:20
   2: <codec::Sink as core::ops::Drop>::drop::h5bd38d3441cd8541
             at ./crates/codec/src/sink.rs:9:1"""

JAVA = """Exception in thread "main" java.lang.IllegalStateException: order 4711 is already closed
\tat com.acme.shop.order.OrderService.close(OrderService.java:118)
\tat com.acme.shop.Main$Inner.main(Main.java:22)
\tat java.base/java.lang.Thread.run(Thread.java:829)
Caused by: java.sql.SQLException: Lock wait timeout exceeded
\tat app//com.acme.shop.db.Tx.commit(Tx.java:73)
\t... 3 more"""

CSHARP = """Unhandled exception. System.ArgumentNullException: Value cannot be null. (Parameter 'tenant')
   at Acme.Shop.Quota.Check(Tenant tenant) in /src/Shop/Quota.cs:line 52
   at Acme.Shop.UploadController.<Post>d__3.MoveNext() in C:\\src\\Shop\\UploadController.cs:line 118
   at System.Runtime.TaskAwaiter.ThrowForNonSuccess(Task task)"""

RUBY = """/srv/app/lib/cart.rb:12:in `total': undefined method `price' for nil:NilClass (NoMethodError)
\tfrom /srv/app/lib/shop.rb:30:in 'Shop#checkout'
\tfrom /usr/lib/ruby/gems/3.2.0/gems/mid-2.2/lib/mid.rb:5:in `call'"""

PHP = """PHP Fatal error:  Uncaught TypeError: bad item, called in /app/src/Post.php on line 41
Stack trace:
#0 /app/src/Controller.php(42): Shop\\Cart->add(NULL)
#1 /app/vendor/acme/kernel/Kernel.php(163): Shop\\Controller->post(Object(Request))
#2 {main}
PHP   3. Shop\\Kernel->run() /app/src/Kernel.php:173"""

BROKEN_PYTHON = """Traceback (most recent call last):
  File "D:\\shop\\views\\cart.py", line 88,
in checkout
    total = cart.total(currency)
  File "D:\\shop\\models\\line.py", line 37,
in price
    rate = RATES[currency]"""

PYTEST = """tests/test_cart.py:5: in test_total
    assert total(3) == 3
shop/cart.py:12: in total
    return price(cart)
shop/models/line.py:37: in price
    rate = RATES[currency]
E   KeyError: 'CHF'"""

GIN = """/srv/shop/cart.go:173 (0x47f51d3)
        (*Cart).Total: c.items[c.index](c)
/srv/shop/main.go:27 (0x5cebc67)
        main.func1: c.Next()"""

GDB = """#0  0x00007ffff7a in raise () from /lib/x86_64-linux-gnu/libc.so.6
#1  0x0000555 in decode_frame (p=0x0, n=12) at ../src/codec.c:57
#2  main (argc=1, argv=0x7ff) at main.c:9"""

SANITIZER = """    #0 0x4a1f in Codec::decode(char const*) /home/kim/src/codec.cpp:12:3
    #1 in ta_alloc ta/ta.c:141"""

RUSTC = """error[E0382]: borrow of moved value: `frame`
  --> src/codec.rs:57:20
   |
55 |     sink.send(frame);"""

COMPILERS = """src/pages/Login.tsx(41,17): error TS2345: Argument of type 'string' is not assignable
Program.cs(12,3): error CS0103: The name 'x' does not exist
In file included from src/a.h:3,
src/a.c:12:3: error: 'x' undeclared
./wal.go:8:3: undefined: y
Order.java:15: error: cannot find symbol
e: file:///app/src/Cart.kt:16:3 Unresolved reference: x"""


@pytest.mark.parametrize(
    ("trace", "places"),
    [
        (
            PYTHON,
            (
                "/srv/app/shop/models/line.py:37:price /srv/app/shop/views/cart.py:88:checkout"
                " /usr/lib/python3.11/site-packages/forms/bind.py:141:bind!"
            ),
        ),
        (
            JAVASCRIPT,
            (
                "/home/kim/app/src/views/cart.tsx:41:render /home/kim/app/src/router.ts:10:Router.run"
                " /home/kim/app/node_modules/server/lib/index.js:284:!"
                " node:internal/process/task_queues:95:process.processTicksAndRejections!"
            ),
        ),
        (BUNDLED, "src/store.ts:12:eval /proj/shop/src/main.js:3:"),
        (FIREFOX, "src/cart.js:41:render src/main.js:3:"),
        (
            GO,
            (
                "/home/kim/store/wal/log.go:310:Log.Append /home/kim/store/main.go:22:main.main"
                " /usr/local/go/src/runtime/panic.go:884:!"
            ),
        ),
        (
            RUST,
            (
                "crates/codec/src/frame.rs:57:codec::frame::Frame::decode"
                " crates/codec/src/sink.rs:9:codec::Sink::drop"
                " /rustc/25ef9e3d/library/std/src/panicking.rs:647:rust_begin_unwind!"
            ),
        ),
        (
            JAVA,
            (
                "com/acme/shop/db/Tx.java:73:com.acme.shop.db.Tx.commit"
                " com/acme/shop/order/OrderService.java:118:com.acme.shop.order.OrderService.close"
                " com/acme/shop/Main.java:22:com.acme.shop.Main$Inner.main"
                " java/lang/Thread.java:829:java.lang.Thread.run!"
            ),
        ),
        (
            CSHARP,
            (
                "/src/Shop/Quota.cs:52:Acme.Shop.Quota.Check"
                " /src/Shop/UploadController.cs:118:Acme.Shop.UploadController.Post"
                " :0:System.Runtime.TaskAwaiter.ThrowForNonSuccess!"
            ),
        ),
        (
            RUBY,
            (
                "/srv/app/lib/cart.rb:12:total /srv/app/lib/shop.rb:30:Shop#checkout"
                " /usr/lib/ruby/gems/3.2.0/gems/mid-2.2/lib/mid.rb:5:call!"
            ),
        ),
        (
            PHP,
            (
                "/app/src/Post.php:41:Shop\\Cart->add /app/src/Controller.php:42:Shop\\Controller->post"
                " /app/src/Kernel.php:173:Shop\\Kernel->run /app/vendor/acme/kernel/Kernel.php:163:!"
            ),
        ),
        (
            BROKEN_PYTHON,
            "/shop/models/line.py:37:price /shop/views/cart.py:88:checkout",
        ),
        (PYTEST, "shop/models/line.py:37:price shop/cart.py:12:total tests/test_cart.py:5:test_total"),
        ("│ /srv/shop/models/line.py:37 in price        │", "/srv/shop/models/line.py:37:price"),
        (GIN, "/srv/shop/cart.go:173:Cart.Total /srv/shop/main.go:27:main"),
        ("  shop.(*Cart).Total(0x14)\n\t  /srv/shop/cart.go:9 +0x110", "/srv/shop/cart.go:9:Cart.Total"),
        (
            "/srv/lib/cart.rb:12:in `block (2 levels) in total'\n    # ./spec/cart_spec.rb:3:in `rescue in run'",
            "/srv/lib/cart.rb:12:total spec/cart_spec.rb:3:run",
        ),
        (
            "    at Layer.handle [as handle_request] (/srv/lib/layer.js:95:5)",
            "/srv/lib/layer.js:95:Layer.handle_request",
        ),
        (GDB, "src/codec.c:57:decode_frame main.c:9:main"),
        (SANITIZER, "/home/kim/src/codec.cpp:12:Codec::decode ta/ta.c:141:ta_alloc"),
        ("  * frame #0: 0x0000000100003f2c app`decode(p=0x0) at codec.c:57:3", "codec.c:57:decode"),
        ("#0      Cart.total (package:shop/cart.dart:12:5)", "shop/cart.dart:12:Cart.total"),
        ("    (shop 0.1.0) lib/shop/cart.ex:12: Shop.Cart.total/1", "lib/shop/cart.ex:12:Shop.Cart.total"),
        ("    (elixir 1.14.0) lib/enum.ex:975: Enum.each/2", "lib/enum.ex:975:Enum.each!"),
        ("\tcart.lua:12: in function 'total'", "cart.lua:12:total"),
        ('Can\'t call method "x" on undef at lib/Cart.pm line 12.', "lib/Cart.pm:12:"),
        ("  error, called at src/Cart.hs:12:3 in main:Cart", "src/Cart.hs:12:error"),
        ("3   Shop   0x000000010 Cart.total() + 124 (Cart.swift:12)", "Cart.swift:12:Cart.total"),
        (RUSTC, "src/codec.rs:57:"),
        (
            COMPILERS,
            (
                "src/pages/Login.tsx:41: Program.cs:12: src/a.h:3: src/a.c:12: wal.go:8: Order.java:15:"
                " /app/src/Cart.kt:16:"
            ),
        ),
        ("    '    at _clone (/var/app/utils/clone.js:78:94)\\n' +", "/var/app/utils/clone.js:78:_clone"),
    ],
)
def test_frames_of_each_language(trace: str, places: str) -> None:
    found = [
        f"{frame.path}:{frame.line}:{frame.function}{'!' if frame.library else ''}"
        for frame in frames_in(trace.split("\n"))
    ]
    assert found == places.split(" ")


@pytest.mark.parametrize(
    ("between", "first"),
    [
        ("During handling of the above exception, another exception occurred:", "second.py"),
        ("The above exception was the direct cause of the following exception:", "first.py"),
    ],
)
def test_python_says_which_of_two_traces_explains_the_other(between: str, first: str) -> None:
    head = "Traceback (most recent call last):\n"
    first_trace, second_trace = (f'{head}  File "{name}.py", line 1, in f\n' for name in ("first", "second"))
    text = f"{first_trace}KeyError: 1\n\n{between}\n\n{second_trace}"
    assert frames_in(text.split("\n"))[0].path == first


def test_a_place_is_listed_once_and_keeps_the_function_that_names_it() -> None:
    found = frames_in(["  --> src/codec.rs:57:20", "   1: codec::decode", "    at src/codec.rs:57:20"])
    assert [(frame.path, frame.function) for frame in found] == [("src/codec.rs", "codec::decode")]


@pytest.mark.parametrize(
    "line",
    [
        "I looked at 3 files at 12:30",
        "at 12:30",
        "The value (x:1:2) is odd",
        "see http://example.org:80/a",
        "- item: 3",
        "look at the code (line 3)",
        "",
    ],
)
def test_prose_is_no_frame(line: str) -> None:
    assert read_frame(line) is None
    assert not is_trace_line(line)
