"""The files whose names come into a file by wildcards, found as far as they are asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator


class Wildcards:
    """The files whose names a file's wildcards bring in, as they are come across first, each once; found as
    far as they are asked for and steps are left. `targets` says those of one file, `passes_on` whether theirs
    come in too."""

    def __init__(
        self,
        path: str,
        targets: Callable[[str], Iterator[str]],
        spend: Callable[[], bool],
        *,
        passes_on: bool,
    ) -> None:
        self._found: list[str] = []
        self._seen = {path}
        self._targets = targets
        self._spend = spend
        self._passes_on = passes_on
        self._waiting = [targets(path)]

    def __iter__(self) -> Iterator[str]:
        at = 0
        while at < len(self._found) or self._extend():
            yield self._found[at]
            at += 1

    def _extend(self) -> bool:
        """Find the next file; return whether there was another."""
        while self._waiting and self._spend():
            path = next(self._waiting[-1], None)
            if path is None:
                self._waiting.pop()
            elif path not in self._seen:
                self._seen.add(path)
                self._found.append(path)
                if self._passes_on:
                    self._waiting.append(self._targets(path))
                return True
        return False
