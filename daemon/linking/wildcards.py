"""The files whose names wildcard imports bring into a file, found lazily."""

from __future__ import annotations

from collections.abc import Callable, Iterator


class Wildcards:
    """The files whose names a file's wildcard imports bring in, in order of discovery, without duplicates.
    Lazy: they are found on demand, while steps are left. `targets` returns the wildcard targets of a file,
    `passes_on` whether the names are re-exported."""

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
        """Find the next file; return whether there is one."""
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
