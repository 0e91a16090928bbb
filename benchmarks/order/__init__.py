"""The order of files: how well it answers questions and commit messages, and the fit of its weights.

Commits of the repositories in `data/repositories.toml` and written questions are asked of indexes of the
trees before them, in several states of the vectors. What the product gathers for each is kept
(`collect.py`), so that ranking all of it anew takes a minute on one core, and learning needs nothing else:

    $ python -m benchmarks.order collect --clones CLONES --state STATE [--embed]
    $ python -m benchmarks.order --state STATE --save before.json
    $ python -m benchmarks.order --state STATE --beside before.json
    $ python -m benchmarks.order.fit --state STATE

Weights are set on `tune`; `held_out` repositories are only reported.
"""
