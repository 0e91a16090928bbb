"""Languages that are recognised and fenced, but have no grammar here."""

from __future__ import annotations

from .shared.language import Language

LANGUAGES = (
    Language("assembly", "asm", (".asm", ".s", ".nasm")),
    Language("awk", "awk", (".awk",), (), ("awk", "gawk", "mawk")),
    Language("crystal", "crystal", (".cr",), (), ("crystal",)),
    Language("css", "css", (".css",)),
    Language("cython", "cython", (".pyx", ".pxd", ".pxi")),
    Language("d", "d", (".d",)),
    Language("diff", "diff", (".diff", ".patch")),
    Language("elm", "elm", (".elm",)),
    Language("fish", "fish", (".fish",), (), ("fish",)),
    Language("fsharp", "fsharp", (".fs", ".fsi", ".fsx")),
    Language("gitconfig", "ini", (), (".gitconfig", ".gitmodules")),
    Language("gitignore", "gitignore", (), (".gitignore", ".dockerignore", ".npmignore", ".fovealignore")),
    Language("glsl", "glsl", (".glsl", ".vert", ".frag", ".comp", ".geom")),
    Language("gomod", "go", (), ("go.mod", "go.work")),
    Language("jinja", "jinja", (".jinja", ".jinja2", ".j2")),
    Language("jsonl", "json", (".jsonl", ".ndjson")),
    Language("latex", "latex", (".tex", ".sty", ".cls", ".bib")),
    Language("less", "less", (".less",)),
    Language("lisp", "lisp", (".lisp", ".lsp", ".cl", ".el"), (), ("sbcl",)),
    Language("matlab", "matlab", (".mat",)),
    Language("meson", "meson", (), ("meson.build", "meson_options.txt", "meson.options")),
    Language("nim", "nim", (".nim", ".nims", ".nimble"), (), ("nim",)),
    Language("notebook", "json", (".ipynb",)),
    Language("pascal", "pascal", (".pas", ".pp", ".dpr")),
    Language("sass", "sass", (".sass",)),
    Language("scheme", "scheme", (".scm", ".ss", ".rkt"), (), ("racket", "guile")),
    Language("scss", "scss", (".scss",)),
    Language("tcl", "tcl", (".tcl",), (), ("tclsh", "wish")),
    Language("vim", "vim", (".vim",), (".vimrc", ".gvimrc")),
    Language("visual-basic", "vb", (".vb", ".bas", ".vbs")),
    Language("xml", "xml", (".xml", ".xsd", ".xsl", ".xslt", ".svg", ".plist", ".csproj", ".props", ".xaml")),
)
