"""Retrieval benchmark: a development set mined from git histories, and what is measured on it.

`data/repositories.toml` pins public repositories, each with one revision and a half of the split.
Their trees at that revision are the index; `mining.py` reads what came after it:
commit messages are the questions, the source files that those commits changed are the answers.
Both read clones that lie in one folder, and nothing else:

    $ git clone https://github.com/OWNER/NAME CLONES/NAME     # for each in repositories.toml, full history
    $ python -m benchmarks.retrieval.mining CLONES COMMITS.jsonl
    $ python -m benchmarks.retrieval --trees TREES --clones CLONES --mined COMMITS.jsonl

No message is kept here: the same pins and the same rules mine the same questions again.
"""
