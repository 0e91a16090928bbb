"""Compression benchmark: how many of the lines that a prompt needs survive in a file made four times smaller.

A pair is a prompt, a file of a published package, and the lines of it that whoever is asked needs to see.
`pairs.jsonl` and `pairs_blind.jsonl` hold them, the second written by someone who never saw the compressor.
No source is kept here: archives are fetched by pinned version and hash when the benchmark runs.

    $ python -m benchmarks.compression FOLDER                # fetches into FOLDER what isn't there
    $ python -m benchmarks.compression FOLDER --check        # only whether each pair fits its file

# The format

One JSON object a line, in UTF-8, with exactly these keys:

- `name`: what the pair is called, unique in both files: `dulwich-thin-packs`.
- `registry`: `pypi` (the source distribution, never a wheel), `npm`, or `debian` (the upstream archive of the
  source package alone, the `.orig` tarball, as in Debian 12).
- `package` and `version`: as the registry spells them; for `debian` the upstream version, no revision.
- `sha256`: of that archive as the registry serves it, 64 hex digits in lower case.
- `path`: of the file in the archive, with slashes, without the one folder that everything in it lies in
  (`src/client.c`, not `package/src/client.c`).
- `language`: in lower case what the file is written in: `python`, `go`, …, `markdown`, `json`, `log`.
- `prompt`: what a person or an agent asks or wants done, in their own words, as they would before they have
  seen the file: a bug report, a question, a task. It need not name what the file calls things.
- `needed`: ranges of lines, first and last, from 1 and inclusive, in order: `[[120, 126], [131, 131]]`.
  They are the lines without which the prompt can't be answered or the change can't be made with certainty:
  usually 3 to 25 lines in one to four places. Blank lines in a range don't count. No license, no imports, no
  whole function where five lines of it decide. The header of the function they stand in belongs to them only
  if it has to be read.
- `split`: `tune` for pairs that weights may be set on, `held_out` for those that are only measured. Those of
  `pairs_blind.jsonl` are all `held_out`.

A file should have between 120 and 3,000 lines of at least 4,000 characters together. Take no more than two
pairs of one file and no more than four of one package, and let needed lines lie anywhere in a file, not at
its beginning.

    {"name": "…", "registry": "pypi", "package": "…", "version": "…", "sha256": "…", "path": "…",
     "language": "python", "prompt": "…", "needed": [[10, 14], [30, 30]], "split": "held_out"}

(One line in the file.) `--check` says of each pair whether its archive can be had and its lines exist, and
prints the needed lines, so that they can be read once more.
"""
