"""Shared embeddings in Redis or Valkey: one server, a cluster or a managed service."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from .messages import SharedStore
from .shared_source import Fetched, SourceError

if TYPE_CHECKING:
    from redis import Redis
    from redis.cluster import RedisCluster

CONNECT_S = 1.0
ANSWER_S = 1.0
"""Maximum seconds to open a connection, and to wait for more of an answer. A round trip to another continent
takes .3 s."""

CLUSTER_RETRIES = 3

BATCH = 1_000
"""Maximum number of keys in one round trip: 0.8 MB of vectors with 384 dimensions."""


class RedisSource:
    """A connection to one server, or to all nodes of a cluster if the server says that it belongs to one.

    Keys expire `days` after their last use. Raises `SourceError` without the package `redis`.
    """

    def __init__(self, store: SharedStore, password: str) -> None:
        try:
            import redis
        except ImportError as error:
            raise SourceError("the package redis isn't installed: install foveal[team]") from error
        self.place = store.place
        self._redis = redis
        self._url = store.url
        self._password = password
        self._expire_s = store.days * 86_400
        self._client: Redis | None = None
        self._cluster: RedisCluster | None = None
        self._moved = False
        """Whether a part of the cluster failed, so that its nodes may have moved."""

    def get(self, keys: Sequence[bytes]) -> Fetched:
        """Return values, and renew the expiry of their keys (GETEX)."""
        replies, problem = self._run(keys, lambda pipe, key: pipe.getex(key, ex=self._expire_s))
        return Fetched([value if isinstance(value, bytes) else None for value in replies], problem)

    def renew(self, keys: Sequence[bytes]) -> Sequence[bool]:
        """Renew the expiry of keys; return for each whether it exists."""
        replies, _ = self._run(keys, lambda pipe, key: pipe.expire(key, self._expire_s))
        return [reply is True or reply == 1 for reply in replies]

    def put(self, values: Mapping[bytes, bytes]) -> str:
        """Store values; return why some couldn't be stored, or an empty string."""
        _, problem = self._run(list(values), lambda pipe, key: pipe.set(key, values[key], ex=self._expire_s))
        return problem

    def close(self) -> None:
        """Close all connections; they are opened again when needed."""
        client, cluster, self._client, self._cluster = self._client, self._cluster, None, None
        for open_client in (client, cluster):
            if open_client is not None:
                open_client.close()

    def _run(self, keys: Sequence[bytes], command: Callable[[Any, bytes], object]) -> tuple[list[Any], str]:
        """Send a command for each key, pipelined to each node. Raises `SourceError` if no node answers."""
        replies: dict[bytes, Any] = {}
        problem, reached = "", False
        with self._errors():
            groups = list(self._groups(keys))
        for client, group in groups:
            try:
                with self._errors():
                    pipe = client.pipeline(transaction=False)
                    for key in group:
                        command(pipe, key)
                    found = pipe.execute(raise_on_error=False)
            except SourceError as error:
                problem = str(error)
                continue
            reached = True
            replies.update(zip(group, found, strict=True))
            failed = next((reply for reply in found if isinstance(reply, Exception)), None)
            if failed is not None:
                problem = self._words(failed)
        if len(replies) < len(keys) and not problem:
            problem = self._in_part()
        if keys and not reached:
            self.close()
            raise SourceError(problem)
        # If nodes have moved, the remaining nodes know their new addresses.
        self._moved = bool(problem) and self._cluster is not None
        return [replies.get(key) for key in keys], problem

    def _groups(self, keys: Sequence[bytes]) -> Iterator[tuple[Redis, list[bytes]]]:
        """Yield batches of keys with the node that holds them; keys that no node covers are left out."""
        if self._client is None and self._cluster is None:
            self._connect()
        if self._client is not None:
            for batch in _batches(keys):
                yield self._client, batch
        if self._cluster is None:
            return
        if self._moved:
            with suppress(self._redis.exceptions.RedisError, OSError):
                self._cluster.nodes_manager.initialize()
        by_node: dict[str, tuple[Redis, list[bytes]]] = {}
        for key in keys:
            try:
                node = self._cluster.get_node_from_key(key)  # type: ignore[no-untyped-call]  # not typed there
            except self._redis.exceptions.SlotNotCoveredError:
                continue
            client = node.redis_connection or self._cluster.get_redis_connection(node)
            by_node.setdefault(node.name, (client, []))[1].append(key)
        for client, group in by_node.values():
            for batch in _batches(group):
                yield client, batch

    def _connect(self) -> None:
        from redis.backoff import NoBackoff
        from redis.cluster import RedisCluster
        from redis.retry import Retry

        options: dict[str, Any] = {
            "socket_connect_timeout": CONNECT_S,
            "socket_timeout": ANSWER_S,
            "retry": Retry(NoBackoff(), 0),
        }
        if self._password:
            options["password"] = self._password
        client = self._redis.Redis.from_url(self._url, **options)
        try:
            if client.info("cluster").get("cluster_enabled"):
                # Retries are needed because the first node that the client asks may be gone.
                options["retry"] = Retry(NoBackoff(), CLUSTER_RETRIES)
                self._cluster = RedisCluster.from_url(self._url, require_full_coverage=False, **options)
                client.close()
                return
        except self._redis.exceptions.NoPermissionError:
            pass  # without permission to ask, assume a single server
        except BaseException:
            client.close()
            raise
        self._client = client

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Turn the client's errors into `SourceError`."""
        try:
            yield
        except Exception as error:  # noqa: BLE001 - whatever the client raises, the embedder goes on without
            raise SourceError(self._words(error)) from None  # its causes may show the URL

    def _words(self, error: BaseException) -> str:
        """Describe an error in one line, without the parts of the URL that the client quotes."""
        exceptions = self._redis.exceptions
        match error:
            case exceptions.AuthenticationError() | exceptions.NoPermissionError():
                return f"{self.place} refuses the user or password"
            case exceptions.TimeoutError() | TimeoutError():
                return f"{self.place} didn't answer in {ANSWER_S:g} s"
            case exceptions.OutOfMemoryError():
                return f"{self.place} is out of memory"
            case exceptions.ClusterDownError() | exceptions.SlotNotCoveredError() | exceptions.MovedError():
                return self._in_part()
            case exceptions.ResponseError():
                return f"{self.place} answered: {str(error).splitlines()[0][:120]}"
            case _:
                return f"{self.place} can't be reached ({type(error).__name__})"

    def _in_part(self) -> str:
        return f"a part of the cluster at {self.place} is down or moving"


def _batches(keys: Sequence[bytes]) -> Iterable[list[bytes]]:
    return (list(keys[start : start + BATCH]) for start in range(0, len(keys), BATCH))
