"""Decisions found in labelled transcripts of invented content, in the hosts' real formats.

`data/` was written with the extractor at hand, `held_out/`, `fresh/` and `fresh2/` by three people who never
saw it; what they showed to be missed was mended since. `fresh4` was written before the weights of
daemon/transcripts/decision_score.py were first fitted, and joined the fit after it was measured once. Nothing
was tuned on or fitted to `fresh3` and `fresh5`. sentences.toml has labelled sentences for the fit.
Each folder holds transcripts, `<name>.jsonl`, and one `labels.jsonl`.

**A transcript** is a file as its host writes it: Claude Code's JSON Lines (a subagent's file too, with
`isSidechain` and `agentId`), a Codex rollout, or the plain format that `foveal.daemon.transcripts`
documents. A line `{"filler": 300}` stands for 300 calls of tools with their results, and now and then a
sentence such as `Now I'll look at the tests.`, in the format of the line before it. They are made when the
file is read, always the same ones, and hold nothing worth keeping; a long transcript stays a small file
that way. A last line may be cut off in the middle.

**A label** is one line of `labels.jsonl` for each transcript:

    {"transcript": "retry.jsonl", "kinds": ["long", "german"], "about": "a line for whoever reads this",
     "decisions": [{"says": "Wait twice as long before each retry, since the server counts attempts.",
                    "key": "retry|retries", "words": ["twice|doubling|exponential", "server"],
                    "files": ["src/client.py"], "outcome": "success"}]}

- `transcript`, `decisions` are needed; `decisions` is empty where nothing is worth keeping, which should be
  so for a third of them. `kinds` is free; usual ones are `long`, `aborted`, `subagent`, `compacted`,
  `codex`, `plain`, and languages in English.
- `says` is for people only. `key` must occur in the decision that was found, each of `words` in the
  decision or the rationale. `|` separates alternatives. Case doesn't count; a word must begin where a word
  begins (in Chinese and Japanese anywhere) but may go on, so that `cach` is met by `caches`. Take them from
  the sentence that states it, one to four of them, and so that no other decision of the transcript has all
  of them.
- `files` and `outcome` (`success`, `failure`, `reverted`, or empty for none) may be left out. They decide
  nothing about a match and are counted apart: `files` is met when each ends the path of a file that was
  found.
- `"optional": true` marks one over which sensible people would disagree: missing it or finding it counts
  neither way. Use it rarely.

**What is worth keeping**, for a colleague who comes to the same code weeks later:

- a choice that the agent took and carried out: between ways of doing something, or with the reason why;
- the cause that it found for a fault (`the root cause was …`), not a guess that it made on the way;
- what it tried, that it failed and was given up for another way;
- what was reverted, as a decision with the outcome `reverted`;
- a standing decision that the user states (`we decided never to …`), when it is a choice about the project,
  and no order for the task at hand.

Nothing of this is: what was merely done with neither choice nor reason (`Added a test`), plans that weren't
carried out, questions, advice to the user (`you could …`), what others wrote (quoted documentation, output
of tools, text of files), the task as the user gave it, what is said conditionally, hypothetically or
denied, how the work goes on (`Now I'll run the tests`), what existing code already does. Of a run that was
broken off before any file was changed nothing is.

**Matching** is mechanical: a finding and a label match by `key` and `words` alone; each matches at most one
of the other, as many as possible. Precision is the share of findings that match, optional ones not counted,
so that the same thing found twice is wrong once. Recall is the share of the labels that match. Beside them
stands how many findings there were in transcripts without a decision.

    python -m benchmarks.transcripts [--json] [--misses] [--set SET]
    python -m benchmarks.transcripts.fit
"""
