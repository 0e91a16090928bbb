"""What a JavaScript or TypeScript reference means is found as bundlers and the compiler would find it."""

from __future__ import annotations

from tests.link_cases import check


def test_imports_and_exports() -> None:
    check(
        {
            "src/auth.ts": (
                "export function login() {}\nfunction out() {}\nexport { out as logout }\n"
                "export default class Session { start() {} }\n"
            ),
            "src/index.ts": (
                "export * from './auth'\nexport { login as signIn } from './auth'\nexport * as auth from './auth'\n"
                "import S from './auth'\nexport { S as Session }\n"
            ),
            "src/app.ts": (
                "import Session, { login, logout as bye } from './auth'\n"
                "import * as all from './index'\nimport { signIn, auth, Session as Again } from './index'\n"
                "import { z } from 'zod'\n"
                "login()  // => src/auth.ts#login\n"
                "bye()  // => src/auth.ts#out\n"
                "new Session()  // => src/auth.ts#Session\n"
                "new Session().start()  // => src/auth.ts#Session, src/auth.ts#Session.start\n"
                "all.login()  // => src/auth.ts#login\n"
                "all.signIn()  // => src/auth.ts#login\n"
                "all.auth.logout()  // => src/auth.ts#out\n"
                "signIn()  // => src/auth.ts#login\n"
                "auth.login()  // => src/auth.ts#login\n"
                "new Again().start()  // => src/auth.ts#Session, src/auth.ts#Session.start\n"
                "z.object()  // => external\n"
                "console.log('a')  // => external\n"
                "unknown()  // => ?\n"
            ),
        }
    )


def test_functions_called_with_another_object() -> None:
    check(
        {
            "lib/send.js": "export default function send(config) {}\nexport const api = { get() {} }\n",
            "lib/app.js": (
                "import send, { api } from './send.js'\n"
                "send.call(this, 1)  // => lib/send.js#send, ?\n"
                "send.apply(null, [1])  // => lib/send.js#send, ?\n"
                "const later = send.bind(null)  // => lib/send.js#send, ?\n"
                "send.other(1)  // => ?\n"
            ),
        }
    )


def test_common_js() -> None:
    check(
        {
            "lib/view.js": "module.exports = View\nfunction View() {}\nView.prototype.render = function () {}\n",
            "lib/util.js": "exports.join = function () {}\nexports.split = split\nfunction split() {}\n",
            "lib/both.js": "const util = require('./util')\nfunction own() {}\nmodule.exports = { util, own, alias: own }\n",
            "lib/pass.js": "module.exports = require('./util')\n",
            "index.js": (
                "const View = require('./lib/view')\nconst { join, split: cut } = require('./lib/util')\n"
                "const both = require('./lib/both')\nvar late = require('./lib/util').split\n"
                "const pass = require('./lib/pass')\n"
                "new View()  // => lib/view.js#View\n"
                "join()  // => lib/util.js#join\n"
                "cut()  // => lib/util.js#split\n"
                "both.own()  // => lib/both.js#own\n"
                "both.alias()  // => lib/both.js#own\n"
                "both.util.join()  // => lib/util.js#join\n"
                "late()  // => lib/util.js#split\n"
                "pass.join()  // => lib/util.js#join\n"
            ),
        }
    )


def test_methods_by_what_the_object_is() -> None:
    check(
        {
            "mail.ts": "export class Mailer { send() {} }\nexport interface Store { get(): Mailer }\n",
            "user.ts": (
                "import { Mailer, Store } from './mail'\n"
                "class Base { save() {} load(): Base { return this } }\n"
                "export class User extends Base {\n"
                "  own = new Mailer()\n"
                "  typed: Mailer\n"
                "  constructor(private given: Mailer, public store: Store) { super() }  // => external\n"
                "  save() {\n"
                "    super.save()  // => Base.save\n"
                "    this.save()  // => User.save\n"
                "    this.load().save()  // => Base.load, Base.save\n"
                "    this.own.send()  // => mail.ts#Mailer.send\n"
                "    this.typed.send()  // => mail.ts#Mailer.send\n"
                "    this.given.send()  // => mail.ts#Mailer.send\n"
                "    this.store.get().send()  // => mail.ts#Store.get, mail.ts#Mailer.send\n"
                "  }\n"
                "}\n"
                "function use(a: User, b?: User | null, c: any, d: string, list: Mailer[]) {\n"
                "  a.save()  // => User.save\n"
                "  b?.save()  // => User.save\n"
                "  c.save()  // => ?\n"
                "  d.trim()  // => external\n"
                "  for (const one of list) {\n"
                "    one.send()  // => mail.ts#Mailer.send\n"
                "  }\n"
                "  const m = new Mailer()\n"
                "  m.send()  // => mail.ts#Mailer.send\n"
                "  const { own, store: kept } = a\n"
                "  own.send()  // => mail.ts#Mailer.send\n"
                "  kept.get()  // => mail.ts#Store.get\n"
                "  const one = c || new Mailer()\n"
                "  one.send()  // => mail.ts#Mailer.send\n"
                "  const cast = c as Mailer\n"
                "  cast.send()  // => mail.ts#Mailer.send\n"
                "  const make = () => new Mailer()\n"
                "  make().send()  // => use.make, mail.ts#Mailer.send\n"
                "}\n"
            ),
        }
    )


def test_circles_end() -> None:
    check(
        {
            "a.ts": "export * from './b'\nimport { f } from './b'\nf()  // => ?\n",
            "b.ts": "export * from './a'\nexport { f } from './a'\nclass A extends A {}\nnew A().go()  // => A, ?\n",
        }
    )


def test_blocks_and_nameless_functions_hide_what_is_at_the_top() -> None:
    check(
        {
            "a.ts": (
                "import { load } from './b'\nexport function save() {}\nsave()  // => ?\n"
                "xs.forEach(save => { save() })  // => ?, ?\n"
                "it('x', () => { const load = 1; load() })  // => ?, ?\n"
                "function pattern({ save = 3 }) {\n  save()  // => ?\n}\n"
                "function nested({ a: { save } }) {\n  save()  // => ?\n}\n"
                "function named() {\n  save()  // => save\n}\n"
            ),
            "b.ts": "export function load() {}\n",
        }
    )
