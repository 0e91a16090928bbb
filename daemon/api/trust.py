"""Owns the methods about trust in a project's files: parameters in, plain maps out; knows no wire."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..app.engine import Engine
from ..core.parameters import Parameters
from .method_parts import Method


class TrustMethods:
    """The methods by name over one engine."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.methods: Mapping[str, Method] = {
            "GetTrust": self._get,
            "Trust": self._trust,
            "RevokeTrust": self._revoke,
        }

    async def _get(self, parameters: Parameters) -> dict[str, Any]:
        root = await self._root(parameters)
        files, trusted = await self._engine.projects.trust_of(root)
        found = [
            {
                "path": file.path,
                "digest": file.digest,
                "size_bytes": file.size_bytes,
                "trusted": file.digest in trusted.digests.get(file.path, ()),
                **({"problem": file.problem} if file.problem else {}),
            }
            for file in files
        ]
        return {"root": root, "files": found}

    async def _trust(self, parameters: Parameters) -> dict[str, Any]:
        root = await self._root(parameters)
        # Each as GetTrust gave it, so that what is trusted is what a person saw.
        wanted = {file.text("path"): file.text("digest") for file in parameters.maps("files")}
        return {"root": root, "trusted": list(await self._engine.projects.trust(root, wanted))}

    async def _revoke(self, parameters: Parameters) -> dict[str, Any]:
        root = await self._root(parameters)
        return {"root": root, "revoked": await self._engine.projects.revoke_trust(root)}

    async def _root(self, parameters: Parameters) -> str:
        return await self._engine.projects.root_of(parameters.text("cwd"))
