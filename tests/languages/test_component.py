"""The scripts of Vue, Svelte, Astro and HTML files give definitions, imports and references at their own lines,
and a component is a definition named after its file."""

from __future__ import annotations

import pytest
from foveal.daemon.languages.shared.markup import component_name
from foveal.daemon.languages.shared.parse import parse_source
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.import_cases import check as check_import
from tests.import_cases import tree
from tests.languages.test_parse import holds_invariants
from tests.link_cases import check as check_links
from tests.properties import examples

SETUP = """\
<!-- A button that asks first. -->
<script lang="ts">
export const SIZES = ["s", "m"]
</script>
<script setup lang="ts" generic="T extends Foo<Bar>">
import Icon from './Icon.vue'
const props = defineProps<{ label: string }>()
/** Asks whether it is meant. */
function confirm(): void { ask() }
</script>

<template>
  <!-- <old-button /> -->
  <Icon :size="props.size" @click="confirm" /> {{ confirm(props) }}
  <my-list title="confirm" />
</template>
<style>
.Icon { color: red }
</style>
"""


def defined(source: str, path: str) -> list[str]:
    """Return `first-last kind name` of the definitions of a file."""
    parsed = parse_source(source.encode(), path.rpartition(".")[2], path)
    return [f"{each.start_line}-{each.end_line} {each.kind} {each.name}" for each in parsed.symbols]


def used(source: str, path: str) -> list[str]:
    """Return `line kind chain in scope` of the references of a file."""
    parsed = parse_source(source.encode(), path.rpartition(".")[2], path)
    names = [*(each.name for each in parsed.symbols), ""]
    return [
        f"{each.line} {each.kind} {each.chain} in {names[each.scope]}"
        for each in parsed.references.references
    ]


def test_vue_setup_has_the_definitions_of_its_scripts_and_the_component() -> None:
    assert defined(SETUP, "src/my-button.vue") == [
        "1-19 class MyButton", "3-3 constant SIZES", "7-7 constant props", "9-9 function confirm",
    ]  # fmt: skip
    parsed = parse_source(SETUP.encode(), "vue", "src/my-button.vue")
    assert [each.doc for each in parsed.symbols] == [
        "A button that asks first.", "", "", "Asks whether it is meant.",
    ]  # fmt: skip
    assert [(each.module, each.line) for each in parsed.imports] == [("./Icon.vue", 6)]
    assert [each.line for each in parsed.split_points] == [2, 3, 4, 5, 6, 7, 8, 10, 17, 19]
    assert not parsed.broken


def test_vue_template_uses_components_and_names_of_its_script() -> None:
    assert used(SETUP, "src/my-button.vue")[-7:] == [
        "9 call ask in confirm",
        "14 call Icon in MyButton",
        "14 use props.size in MyButton",
        "14 use confirm in MyButton",
        "14 call confirm in MyButton",
        "14 use props in MyButton",
        "15 call MyList in MyButton",
    ]


def test_vue_options_give_methods_of_the_component() -> None:
    source = (
        "<template><a @click='no' @input=\"save\">{{ total }}</a></template>\n"
        "<script>\nexport default {\n  data() { return { count: 0 } },\n  computed: { total() { return 1 } },\n"
        "  methods: {\n    save() { this.check() },\n    check: function () {},\n  },\n}\n</script>\n"
    )
    assert defined(source, "Form.vue") == [
        "1-11 class Form", "4-4 method Form.data", "5-5 method Form.total", "7-7 method Form.save",
        "8-8 method Form.check",
    ]  # fmt: skip
    assert used(source, "Form.vue")[:2] == ["1 use Form.save in Form", "1 use Form.total in Form"]
    wrapped = source.replace("export default {", "export default defineComponent({").replace(
        "}\n</", "})\n</"
    )
    assert defined(wrapped, "Form.vue") == defined(source, "Form.vue")


def test_svelte_has_reactive_declarations_and_directives() -> None:
    source = (
        "<script context='module'>\n  export const prerender = true\n</script>\n"
        "<script>\n  import { fade } from 'svelte/transition'\n  export let count\n  $: doubled = 2 * count\n"
        "  const add = () => { count += 1 }\n</script>\n"
        "{#if doubled}<button on:click={add} transition:fade>{$count}</button>{/if}\n"
    )
    assert defined(source, "src/counter/index.svelte") == [
        "1-10 class Counter", "2-2 constant prerender", "6-6 variable count", "7-7 variable doubled",
        "8-8 function add",
    ]  # fmt: skip
    assert used(source, "src/counter/index.svelte")[-4:] == [
        "10 use fade in Counter", "10 use doubled in Counter", "10 use add in Counter", "10 use count in Counter",
    ]  # fmt: skip


def test_astro_has_its_frontmatter_and_its_scripts() -> None:
    source = (
        "---\nimport Card from '../Card.astro'\ninterface Props { posts: string[] }\n"
        "const { posts } = Astro.props\nfunction title(post: string) { return post }\n---\n"
        "<ul>{posts.map((post) => <Card title={title(post)} />)}</ul>\n---\n"
        "<script>\n  function boot() {}\n</script>\n"
    )
    assert defined(source, "src/[slug].astro") == [
        "1-11 class Slug", "3-3 interface Props", "5-5 function title", "10-10 function boot",
    ]  # fmt: skip
    assert used(source, "src/[slug].astro")[-2:] == ["7 call Card in Slug", "7 call title in Slug"]


def test_html_has_the_scripts_that_are_code() -> None:
    source = (
        "<html><script src='./js/app.js'></script><script src='https://x.y/z.js'></script>\n"
        '<script type="application/json">{"function": 1}</script>\n'
        "<!-- <script>function old() {}</script> -->\n"
        "<script type=module>import { a } from '/lib.js'\nfunction go() { a() }</script>\n"
        "<my-tag></my-tag>{{ go() }}<script>function open() {}"
    )
    assert defined(source, "a/index.html") == ["5-5 function go", "6-6 function open"]
    parsed = parse_source(source.encode(), "html", "a/index.html")
    assert [(each.module, each.line) for each in parsed.imports] == [("/lib.js", 4), ("./js/app.js", 1)]
    assert [each.chain for each in parsed.references.references] == ["a"]
    assert parse_source(b"<p>no code</p>\n", "html").symbols == ()


def test_a_class_component_keeps_its_name() -> None:
    source = "<script lang=ts>\nexport default class Form extends Vue {\n  save() {}\n}\n</script>\n"
    assert defined(source, "Form.vue") == ["2-4 class Form", "3-3 method Form.save"]


def test_names_stay_unique() -> None:
    source = "<script>\nForm.a = () => {}\nexport default {\n  methods: { a() {} } }\n</script>\n"
    assert defined(source, "Form.vue") == ["1-5 class Form", "2-2 method Form.a", "4-4 method Form.a~2"]


def test_components_are_resolved_from_scripts_and_templates() -> None:
    check_links(
        {
            "package.json": "{}",
            "src/Button.vue": SETUP,
            "src/lib/Old.svelte": "<script>\n  export let a\n</script>\n",
            "src/main.ts": (
                "import Button, { SIZES } from './Button.vue'\nimport { mount } from 'vue'\n"
                "import Old from '$lib/Old.svelte'\nimport Again from '@/Button.vue'\n"
                "mount(Button)  // => external, src/Button.vue#Button\n"
                "new Old(SIZES)  // => src/lib/Old.svelte#Old, src/Button.vue#SIZES\n"
                "new Again()  // => src/Button.vue#Button\n"
            ),
            "src/App.vue": (
                "<script setup>\nimport Button from './Button'\nimport { ask } from './ask'\n"
                "ask()  // => src/ask.ts#ask\nfunction go() {\n  ask()  // => src/ask.ts#ask\n}\n</script>\n"
                "<template>\n  <Button\n  /> // => ?\n  <Button /> // => src/Button.vue#Button\n"
                '  <p @click="go" /> // => go\n</template>\n'
            ).replace("  <Button\n  /> // => ?\n", ""),
            "src/ask.ts": "export function ask() {}\n",
            "src/Form.vue": (
                "<script>\nexport default {\n  methods: {\n    save() {\n"
                "      this.check()  // => Form.check, Form.check\n    },\n    check() {},\n  },\n}\n</script>\n"
            ),
        },
        "call", "use",
    )  # fmt: skip


def test_usual_aliases_are_those_of_the_nearest_package() -> None:
    files = {"web/package.json": "{}", **tree("web/src/a/b.ts", "web/c.ts", "d.ts", "web/app.ts")}
    for specifier, expected in (("@/a/b", "web/src/a/b.ts"), ("~/c", "web/c.ts"), ("@/d", None)):
        check_import(files, "web/app.ts", "typescript", specifier, expected)


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("src/Button.vue", "Button"), ("my-button.vue", "MyButton"), ("ui/card/index.vue", "Card"),
        ("routes/+page.svelte", "Page"), ("[...slug].astro", "Slug"), ("index.vue", "Index"), ("+.vue", ""),
    ],
)  # fmt: skip
def test_component_name(path: str, name: str) -> None:
    assert component_name(path) == name


FRAGMENTS = st.sampled_from(
    ["<script", " lang='ts'", ">", "</script>", "<style>", "</style>", "<!--", "-->", "---\n", "\n", "{", "}",
     "{{ a }}", "<Foo ", "<my-tag/>", "export default {", "methods: {", "a() {}", ", ", "const a = 1;", "$: b = 2",
     ' @click="a"', "import Foo from './Foo.vue'\n", "class Foo {", "Foo.a = () => {}\n", '"', "é"]
)  # fmt: skip


@given(st.lists(FRAGMENTS, max_size=40).map("".join), st.sampled_from(["vue", "svelte", "astro", "html"]))
@settings(max_examples=examples(200))
def test_any_markup_gives_an_ordered_answer(source: str, language: str) -> None:
    parsed = parse_source(source.encode(), language, f"src/Foo.{language}")
    holds_invariants(parsed)
    assert all(-1 <= each.scope < len(parsed.symbols) for each in parsed.references.references)


@pytest.mark.parametrize(
    "piece", ["<script ", '<script "', "<script>", "<!--", "{{", "<A ", '@a="', "--- \n", "{a"]
)
def test_hostile_markup_takes_linear_time(piece: str) -> None:
    """Each would take minutes if it were searched to the end of the file from each of its places."""
    parsed = parse_source(piece.encode() * (400_000 // len(piece)), "astro", "Foo.astro")
    assert parsed.lines >= 1
