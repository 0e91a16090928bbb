"""What a Go reference means is found across the files of its package and the packages it imports."""

from __future__ import annotations

from tests.link_cases import check

MODULE = {"go.mod": "module example.com/shop\n"}


def test_packages_and_methods() -> None:
    check(
        MODULE
        | {
            "store/store.go": (
                "package store\n\ntype Store struct {\n\tlog *Log\n}\n\n"
                "func New() *Store { return &Store{} }  // => Store\n\n"
                "type Getter interface {\n\tGet(key string) *Item\n}\n"
            ),
            "store/item.go": (
                "package store\n\ntype Log struct{}\n\nfunc (l *Log) Print() {}\n\ntype Item struct{ Log }\n\n"
                "func (s *Store) Get(key string) *Item {\n"
                "\ts.log.Print()  // => Log.Print\n"
                "\treturn &Item{}  // => Item\n}\n\n"
                "func (i *Item) Price() int {\n\ti.Print()  // => Log.Print\n\treturn len(i.name)  // => external\n}\n"
            ),
            "store/item_test.go": "package store\n\nfunc helper() {}\n\nfunc TestIt() { helper() }  // => helper\n",
            "main.go": (
                'package main\n\nimport (\n\t"fmt"\n\tst "example.com/shop/store"\n)\n\n'
                "func main() {\n"
                "\ts := st.New()  // => store/store.go#New\n"
                '\ts.Get("a").Price()  // => store/item.go#Store.Get, store/item.go#Item.Price\n'
                "\tvar g st.Getter = s\n"
                '\tg.Get("b")  // => store/store.go#Getter.Get\n'
                "\tall := []*st.Item{}\n"
                "\tfor _, one := range all {\n"
                "\t\tone.Price()  // => store/item.go#Item.Price\n\t}\n"
                "\tfmt.Println(1)  // => external\n"
                "\thelper()  // => ?\n"
                "\tst.Missing()  // => ?\n"
                "}\n"
            ),
        }
    )
