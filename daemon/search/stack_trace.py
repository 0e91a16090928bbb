"""Finds the frames of stack traces in a question, the most relevant first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from .patterns import clean_path, compiled

MAX_FRAMES = 40
"""Maximum number of frames kept, the most relevant ones; a runaway recursion prints thousands."""

MAX_LINE = 1_000
"""Maximum characters of a line that are read; only lines of minified code are longer."""


class Frame(Struct, frozen=True):
    """One line of a stack trace or of a compiler's output.

    `path` has `/` between its parts and may be absolute, on another machine, or a guess from a class
    (`com.acme.Order.close(Order.java:9)` gives `com/acme/Order.java`), so compare it with the project's paths
    from its end. It is empty if the line names only a function. `line` counts from 1, 0 when unknown.
    `function` is as written, with its class but without arguments, or empty. `library` says that the file
    belongs to an installed package.
    """

    path: str
    line: int
    function: str
    library: bool


def read_frame(line: str) -> Frame | None:
    """Return the frame that a line is, or None.

    Supports Python, JavaScript (V8, Firefox, Safari), Go, Rust, Java and other JVM languages, C#, Ruby, PHP
    (also Xdebug), gdb, lldb, sanitizers, Dart, Elixir, Lua, Perl, Swift, and common compilers and linters.
    """
    line = compiled(_LITERAL).sub("", line[:MAX_LINE].rstrip())
    if not compiled(_MAY_BE_FRAME).search(line):
        return None
    for pattern in _PATTERNS:
        match = compiled(pattern).match(line)
        if match:
            groups = match.groupdict()
            function = _clean_function(groups.get("function") or "")
            path = clean_path(groups.get("path") or "")
            if path and not compiled(_PLACE).search(path):
                continue
            if compiled(_JVM_FILE).search(path) and "/" not in path:
                path = _class_file(function, path)
            library = bool(
                compiled(_LIBRARY).search(path)
                or compiled(_LIBRARY_FUNCTION).match(function)
                or compiled(_LIBRARY_LINE).match(line)
            )
            return Frame(path, int(groups.get("line") or 0), function, library)
    return None


def is_trace_line(line: str) -> bool:
    """Whether a line belongs to a stack trace or compiler output, even if it has no file or line number."""
    return bool(compiled(_TRACE_LINE).match(line[:MAX_LINE])) or read_frame(line) is not None


def frames_in(lines: Sequence[str]) -> tuple[Frame, ...]:
    """Return the frames in the lines of a question, the most relevant first, each place once.

    Within a trace the innermost frame comes first, in whichever order the language prints them. If there are
    several traces, the cause comes first if it is marked (`Caused by`, `direct cause`); otherwise the last
    trace for Python and the first for other languages. Frames of installed packages and standard libraries
    come last. They are kept, because the project may itself be such a package.
    """
    ordered = [frame for trace in _ordered(_traces(lines)) for frame in trace]
    ordered.sort(key=lambda frame: frame.library)  # frames of the project first, otherwise in the same order
    unique: dict[tuple[str, int, str], Frame] = {}
    for frame in ordered:
        key = (frame.path, frame.line, frame.function if not frame.path else "")
        earlier = unique.get(key)
        if earlier is None or (frame.function and not earlier.function):
            unique[key] = frame
    return tuple(unique.values())[:MAX_FRAMES]


class _Trace(Struct):
    frames: list[Frame]
    innermost_last: bool = False
    is_cause: bool = False


def _traces(lines: Iterable[str]) -> list[_Trace]:
    """Collect frames into traces; a function named on the line above or below a place is added to its frame.

    PHP names on each line the function that was called there, so the line itself lies in that of the next
    frame."""
    traces = [_Trace([])]
    function_above = ""  # Go and Rust print the function on a line before its place
    is_open = False  # the function of the last frame may be on the next line
    for line in lines:
        if compiled(_MOST_RECENT_LAST).search(line):
            traces.append(_Trace([], innermost_last=True))
        elif compiled(_CAUSE).match(line):
            traces.append(_Trace([], is_cause=True))
        elif compiled(_LATER_CAUSED).match(line):
            traces[-1].is_cause = True
        elif compiled(_NEW_TRACE).match(line):
            traces.append(_Trace([]))
        frame = read_frame(line)
        if frame is None:
            below = compiled(_FUNCTION_BELOW).match(line[:MAX_LINE]) if is_open else None
            if below:
                last = traces[-1].frames[-1]
                function = _clean_function(next(filter(None, below.groups())))
                traces[-1].frames[-1] = Frame(last.path, last.line, function, last.library)
            is_open = False
            above = compiled(_FUNCTION_LINE).match(line[:MAX_LINE])
            function_above = _clean_function(next(filter(None, above.groups()))) if above else ""
            continue
        if compiled(_PYTHON_FRAME).match(line) and not traces[-1].frames:
            traces[-1].innermost_last = True
        if function_above and not frame.function:
            library = frame.library or bool(compiled(_LIBRARY_FUNCTION).match(function_above))
            frame = Frame(frame.path, frame.line, function_above, library)
        function_above = ""
        if compiled(_PHP_FRAME).match(line):
            if traces[-1].frames:
                last = traces[-1].frames[-1]
                traces[-1].frames[-1] = Frame(last.path, last.line, frame.function, last.library)
            frame = Frame(frame.path, frame.line, "", frame.library)
        is_open = not frame.function and frame.path.endswith((".py", ".go"))
        traces[-1].frames.append(frame)
    return [trace for trace in traces if trace.frames]


def _ordered(traces: Sequence[_Trace]) -> list[list[Frame]]:
    """Return the traces with the cause of the others first, and in each trace the innermost frame first."""
    python = bool(traces) and traces[-1].innermost_last
    direction = -1 if python or any(trace.is_cause for trace in traces) else 1
    by_place = sorted(enumerate(traces), key=lambda item: (not item[1].is_cause, direction * item[0]))
    return [trace.frames[::-1] if trace.innermost_last else trace.frames for _, trace in by_place]


def _class_file(function: str, name: str) -> str:
    """Guess a file's path from the class whose method a JVM frame names; packages are lower case."""
    packages = [part for part in function.split(".")[:-1] if part.islower() and part.isidentifier()]
    return "/".join([*packages, name])


def _clean_function(function: str) -> str:
    """Return a function's name without arguments and without the suffixes that compilers add."""
    function = compiled(_RUST_HASH).sub("", function.strip())
    function = compiled(_GENERIC_IMPL).sub(r"\1::", function)
    function = compiled(_METHOD_ALIAS).sub(r"\1", compiled(_BLOCK_IN).sub("", function))
    if "/" in function and " " not in function:
        function = function.rpartition("/")[2]  # Go names the module first
    function = compiled(_GO_RECEIVER).sub(r"\1", function)
    function = compiled(_ASYNC_STATE).sub(r"\1", function)
    function = compiled(_ARGUMENTS).sub("", function)
    function = compiled(_CLOSURE).sub("", function)
    function = function.removeprefix("async ").removeprefix("new ").removeprefix("Object.")
    if function in _NO_FUNCTION:
        return ""
    return function.strip(" `'\"&*<>")


_NO_FUNCTION = frozenset(
    ("<module>", "<anonymous>", "<top (required)>", "<main>", "<unknown>", "{main}", "??", "?")
)
_LITERAL = r"^[ \t]{0,12}['\"](?=[ \t]{0,12}at )|(?:\\{1,2}n|(?<=\d\)))['\"],?(?: ?\+)?$"
"""The quotation marks and escapes around a frame that a log has as a string literal."""

_MAY_BE_FRAME = r"\d|\sat\s|^at\s"

_FILE = r"(?P<path>[^\s:()\"'<>|]{1,400}\.[A-Za-z][\w+]{0,9})"
"""A file with an extension; the bounds keep the search linear."""

_PATTERNS = (
    # Python:   File "/srv/app/cart.py", line 88, in checkout
    (
        r"\s*+(?:[|E>]\s++)?File \"(?P<path>[^\"\n]{1,500})\", line (?P<line>\d{1,7})"
        r"(?:, in (?P<function>\S{1,200}))?"
    ),
    # Java:     at com.acme.Order.close(Order.java:118)
    (
        r"\s*+(?:\[\w+\]\s*+)?(?:at )?(?:[\w.@-]{1,80}/{1,2}){0,2}(?P<function>[\w.$<>]{2,300})"
        r"\((?P<path>[\w$-]{1,100}\.(?:java|kt|scala|groovy|clj)):(?P<line>\d{1,7})\)"
    ),
    (
        r"\s*+at (?:[\w.@-]{1,80}/{1,2}){0,2}(?P<function>[\w.$<>]{2,300})\((?:Native Method|Unknown Source"
        r"|SourceFile(?::\d+)?)\)"
    ),
    # C#:       at Acme.Quota.Check(Tenant t) in /src/Quota.cs:line 52
    (
        r"\s*+at (?P<function>[\w.`+<>\[\],|$]{2,300})\([^()\n]{0,400}\)"
        r" in (?P<path>[^\n]{1,400}):line (?P<line>\d{1,7})\b"
    ),
    r"\s*+at (?P<function>(?:[A-Z][\w`<>+]*\.){1,12}[\w`<>+.]{1,100})\([^()\n]{0,400}\)$",
    # V8:       at async Router.run (file:///app/src/router.ts:10:5)
    (
        r"\s*+[^a-z]{0,4}at (?P<function>[^\n(]{1,300}?) \((?:eval at [^\n(]{1,200} \()?"
        r"(?P<path>[^\s()][^()\n]{0,400}?):(?P<line>\d{1,7})(?::\d{1,7})?\)"
    ),
    r"\s*+[^a-z]{0,4}at (?P<path>[^\s()][^()\n]{0,400}?):(?P<line>\d{1,7})(?::\d{1,7})?\)?,?$",
    # Firefox:  run@http://localhost:3000/src/router.js:10:5
    (
        r"\s*+(?P<function>[\w$./<>*\[\]]{0,200})@(?P<path>(?:https?|file|webpack\S{0,20}|resource"
        r"|moz-extension)://[^\s()]{1,400}?):(?P<line>\d{1,7})(?::\d{1,7})?$"
    ),
    # Rust:     --> src/codec.rs:57:20   and   thread 'main' panicked at src/codec.rs:57:20:
    r"\s*+(?:-->|:::) (?P<path>[^\s:][^:\n]{0,400}):(?P<line>\d{1,7})(?::\d{1,7})?$",
    r".{0,200}?panicked at (?:[^\n]{0,300}, )?(?P<path>[^\s:,'\"]{1,400}\.rs):(?P<line>\d{1,7})",
    # PHP:      #0 /app/src/Cart.php(12): Shop\Cart->total()
    r"\s*+#\d{1,4} (?P<path>[^\s()]{1,400})\((?P<line>\d{1,7})\): (?P<function>[^\s(]{1,200})",
    (
        r"\s*+PHP {1,8}\d{1,4}\. (?P<function>[^\s(]{1,200})\([^\n]{0,300}\) "
        r"(?P<path>[^\s:]{1,400}):(?P<line>\d{1,7})"
    ),
    r".{0,400}? in (?P<path>[^\s:]{1,400}\.(?:php|phtml|inc|phar/\S{1,200})) on line (?P<line>\d{1,7})",
    r".{0,400}? in (?P<path>[^\s:]{1,400}\.php):(?P<line>\d{1,7})",
    # Dart:     #0      Cart.total (package:shop/cart.dart:12:5)
    (
        r"\s*+#\d{1,4} ++(?P<function>[^\s(]{1,200}) "
        r"\((?P<path>[^()\s]{1,400}?\.dart):(?P<line>\d{1,7})(?::\d{1,7})?\)"
    ),
    # gdb, lldb, sanitizers:  #1  0x00005 in decode (p=0x0) at src/codec.c:57
    (
        r"\s*+(?:\* )?(?:#|frame #)\d{1,4}:?\s++(?:0x[0-9a-fA-F]{1,16} )?(?:in )?"
        r"(?:[\w.+-]{1,80}`)?(?P<function>[^\n(]{1,300}?)(?:\s?\([^\n]{0,300}\))?(?: at| from)? "
        r"(?P<path>[^\s:()]{1,400}\.[\w+]{1,10}):(?P<line>\d{1,7})"
    ),
    # Ruby:     from /srv/app/cart.rb:12:in `total'
    (
        r"\s*+(?:\d{1,4}: |# )?(?:from )?(?P<path>[^\s:]{1,400}):(?P<line>\d{1,7}):in "
        r"[`'](?P<function>[^'\n]{1,200})'"
    ),
    # Elixir:   (shop 0.1.0) lib/shop/cart.ex:12: Shop.Cart.total/1
    (
        r"\s*+\(\w{1,80}[^()\n]{0,30}\) (?P<path>[^\s:]{1,400}\.(?:exs?"
        r"|erl)):(?P<line>\d{1,7}): (?P<function>[^\s/]{1,200})"
    ),
    # Lua:      cart.lua:12: in function 'total'
    (
        r"\s*+(?P<path>[^\s:]{1,400}\.(?:lua|moon)):(?P<line>\d{1,7}): in (?:function|method|upvalue|local"
        r"|field|main)\s?['<]?(?P<function>[\w.:]{0,100})"
    ),
    # Perl:     died at lib/Cart.pm line 12.
    r".{0,400}? at (?P<path>[^\s]{1,400}\.(?:pl|pm|t)) line (?P<line>\d{1,7})",
    # Haskell:  error, called at src/Cart.hs:12:3 in main:Cart
    r"\s*+(?P<function>[\w.']{1,100}), called at (?P<path>[^\s:]{1,400}\.hs):(?P<line>\d{1,7})",
    # Swift:    3 Shop 0x0001 Cart.total() + 124 (Cart.swift:12)
    (
        r"\s*+\d{1,4}\s++\S{1,80}\s++0x[0-9a-fA-F]{1,16} (?P<function>[^\n(]{1,200})[^\n]{0,300}"
        r"\((?P<path>[\w+.-]{1,100}\.(?:swift|mm?)):(?P<line>\d{1,7})\)"
    ),
    # Kotlin's compiler:  e: file:///app/Cart.kt:12:3 Unresolved reference
    r"[ew]: (?P<path>[^\s:(]{0,8}:?[^\s:(]{1,400}\.kts?)[: (]{1,3}(?P<line>\d{1,7})",
    # tsc, csc, MSVC:  src/Login.tsx(41,17): error TS2345
    r"\s*+" + _FILE + r"\((?P<line>\d{1,7})(?:,\d{1,7}){0,3}\) ?: (?:fatal )?(?:error|warning|message)",
    # pytest, rich:  lib/cart.py:12: in total      │ /srv/lib/cart.py:12 in total      │
    (
        r"\s*+(?:[│|] )?(?P<path>[^\s:()\"'<>|]{1,400}\.pyx?):(?P<line>\d{1,7}):? in "
        r"(?P<function>[\w.<>]{0,200})(?:\s|$)"
    ),
    # gcc, clang, go, javac, mypy, ruff, tsc --pretty, gcc's "In file included from a.h:3"
    (
        r"\s*+(?:In file included from |from )?"
        r"(?P<path>(?:[A-Za-z]:)?[^\s:()\"'<>|]{1,400}\.[A-Za-z][\w+]{0,9})"
        r":(?P<line>\d{1,7})(?::\d{1,7})?(?:[:,]\d{0,7}?(?:\s|$)| - )"
    ),
    # Go:       /src/store/wal.go:310 +0x1d
    r"\s*+(?P<path>[^\s:]{1,400}\.(?:go|s)):(?P<line>\d{1,7})(?: \+0x[0-9a-f]{1,16}| \(0x[0-9a-f]{1,16}\))$",
    r"\s++(?P<path>[^\s:]{1,400}\.(?:go|s)):(?P<line>\d{1,7})$",
    # Rust's backtrace gives the place below the function, at ./src/codec.rs:57:20, as V8 does
)

_PYTHON_FRAME = (
    r"\s*+(?:[|E>]\s++)?File \""
    r"|\s*+[^\s:]{1,400}\.py:\d{1,7}: (?:in \w|\w{0,80}(?:Error|Exception|Failed|Exit|Warning)?$)"  # pytest
)
_MOST_RECENT_LAST = r"Traceback \((?:most recent call last|innermost last)\)"
_CAUSE = r"\s*+(?:Caused by\b|Cause:|\[cause\])"
_LATER_CAUSED = r"\s*+The above exception was the direct cause"
_NEW_TRACE = (
    r"goroutine \d|(?:Exception in thread|Unhandled exception|Uncaught |PHP Fatal|panic:|thread '"
    r"|Suppressed:)"
)
_FUNCTION_LINE = (
    r"\s{0,12}\d{1,4}:\s++(?:0x[0-9a-f]{1,16} - )?(\S[^\n]{0,300})$"  # Rust
    r"|\s{0,12}(?:created by )?((?:[\w.-]{1,60}/){0,12}[\w-]{1,80}\.(?:\(\*?\w{1,80}\)\.)?[\w.]{1,120})"  # Go
    r"(?:\([^\n]{0,200}|$)"
)
_FUNCTION_BELOW = (
    r"in (\S{1,200})$"  # Python, where a terminal broke the line
    r"|\s++((?:\(\*\w{1,80}\)\.)?[A-Za-z_][\w.]{0,200}): "  # Gin's recovery
)
_PHP_FRAME = r"\s*+#\d{1,4} [^\s()]{1,400}\(\d{1,7}\): "
_TRACE_LINE = (
    r"\s*+(?:Traceback \(|\.\.\. \d+ (?:more|common frames)|Caused by: |goroutine \d+ \[|stack backtrace:"
    r"|\[C\]: in \?|Exception in thread |Unhandled [Ee]xception|Uncaught "
    r"|panic: thread '[^'\n]{0,80}' panicked|PHP Stack trace:|Stack trace:|at java\.|Process finished"
    r"|During handling of the above exception|The above exception was|note: run with `RUST_BACKTRACE"
    r"|\d{1,4}:\s++(?:0x[0-9a-f]{1,16} - )?[\w<&*]\S{0,200}::\S|\[Previous line repeated|#\d+ \{main\}"
    r"|[~^ ]{0,200}\^[~^ ]{0,200}$|--- End of stack|File \"|at <|\[\d+/\d+\] "
    r"|at \S{1,200} \((?:<anonymous>|native)\)|npm ERR!|make(?:\[\d+\])?: \*\*\*"
    r"|error(?:\[\w+\]|\s(?:TS|CS|C)\d+)?: |\d{0,6} {1,4}\|  |\| {1,}\^|= (?:note|help):|E {2,}\S|> Task :"
    r"|FAILED )"
)

_LIBRARY = (
    r"(?:^|/)(?:site-packages|dist-packages|node_modules|bower_components|vendor|gems|rustlib|\.m2|\.gradle"
    r"|deps)/|/lib(?:64)?/python\d|/Python\d{2,3}/[Ll]ib/|^<frozen |^<string>|^<unknown>|^<anonymous>"
    r"|^<__array_function__|^node:|^internal/|^(?:events|net|fs|module|timers|vm|stream|_stream_\w+)\.js$"
    r"|^native\b|\[native code\]|^rustc/|/rustc/|\.cargo/(?:registry|git)/|/rust/library/"
    r"|^library/(?:std|core|alloc)/|go/pkg/mod/|(?:^|/)(?:usr/)?(?:local/)?(?:lib/)?go(?:-?\d[\d.]*)?/src/"
    r"|^GOROOT/|^runtime/|^(?:usr|opt)/(?:include|lib)/"
    r"|^/(?:usr/(?:include|lib|share)|nix/store|snap|System)/|/lib/ruby/|^dart:"
    r"|^(?:webpack/bootstrap|webpack/runtime)|\.\./sysdeps/"
    r"|^(?:org/junit|java|javax|sun|jdk|kotlin|kotlinx|scala|com/sun)/|^phar:|/elixir/lib/|^\(?erl|/jre/"
    r"|^/?build/glibc"
)
_LIBRARY_FUNCTION = (
    r"(?:java|javax|jdk|sun|com\.sun|kotlin|kotlinx|scala|clojure|org\.junit|org\.gradle|System|Microsoft)\."
    r"|(?:<?&?\w* ?as )?(?:std|core|alloc|backtrace|rust_begin|__rust|tokio|rayon)(?:::|_)|runtime\.|__libc"
    r"|_start\b|node:|processTicksAndRejections|(?:Array|Promise|Function|Object|Map|Set|JSON|String|RegExp"
    r"|Module|process|Timeout|Immediate|EventEmitter|Socket)\.\w+$|__GI_|testing\.tRunner"
)
_PLACE = r"[./]|^node:"
_LIBRARY_LINE = r"\s*+\((?:elixir|stdlib|kernel|ex_unit|erts|iex|mix) "
_JVM_FILE = r"\.(?:java|kt|scala|groovy|clj)$"
_RUST_HASH = r"::h[0-9a-f]{16}$|\[[0-9a-f]{16}\]"
_GENERIC_IMPL = r"^<&?(?:mut )?([\w:]{1,200})(?:<[^>\n]{0,200}>)?(?: as [^>\n]{1,300})?>::"
_GO_RECEIVER = r"^(?:[\w-]{1,80}\.)?\(\*(\w{1,80})\)(?=\.)"
_BLOCK_IN = r"^(?:(?:block|rescue|ensure)(?: \(\d+ levels?\))? in )+"  # Ruby
_METHOD_ALIAS = (
    r"[\w$]{1,80} \[as ([\w$]{1,80})\]$"  # V8 gives the name of the property behind that of the function
)
_ASYNC_STATE = r"<(\w{1,100})>[bdg]__[\w|]{0,60}(?:\.MoveNext)?$"
_ARGUMENTS = r"(?<=[\w>$])\s?\([^\n]*$"
_CLOSURE = r"(?:::\{\{?[^}\n]{0,60}\}\}?){1,6}|\.func\d+(?:\.\d+)*|\$\$?[Ll]ambda\S*|::\{\{?closure.*$"
