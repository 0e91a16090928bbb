"""What an agent may see of items and sessions under its policy.

Texts that name a hidden path are left out; secrets in the others are masked.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from ..privacy.policy import Policy
from ..rules.agent_items import AgentItems
from ..rules.items import Item, ItemKey
from ..sessions.session import Session


def denies_item(policy: Policy, item: Item, root: str) -> bool:
    """Tell whether an item is denied: by its name, or because one of its files is hidden.

    An instruction file that imports a hidden file contains its text.
    """
    if policy.denies_item(item.type, item.name, item.server_name):
        return True
    below = f"{root.rstrip('/')}/"
    sources = [path[len(below) :] for path in (item.source, *item.parts) if path.startswith(below)]
    if item.source and not os.path.isabs(item.source):
        sources.append(item.source)  # as its client named it
    if item.type != "tool":
        sources.append(item.name)
    return any(policy.denies(path) or policy.is_secret(path) for path in sources)


def denied_keys(policy: Policy, items: AgentItems, root: str) -> frozenset[ItemKey]:
    """Return the keys of denied items."""
    return frozenset(key for key, item in items.by_key.items() if denies_item(policy, item, root))


def visible_items(policy: Policy, items: AgentItems, root: str) -> AgentItems:
    """Return the items that an agent may see, with secrets masked."""
    denied = denied_keys(policy, items, root)
    by_key = {key: _masked(policy, item) for key, item in items.by_key.items() if key not in denied}
    warnings = policy.sentences(items.warnings, root)
    stored = items.stored - denied
    return replace(items, items=tuple(by_key.values()), warnings=warnings, stored=stored, by_key=by_key)


def visible_session(policy: Policy, session: Session, denied: frozenset[ItemKey]) -> Session:
    """Return a session as an agent may see it: sets, notes and items without hidden ones."""
    root = session.project_root
    context = visible_sets(policy, session.context, root)
    intent, hint = (
        "" if policy.names_denied(text, root) else policy.mask(text)
        for text in (session.current_intent, session.env_hint)
    )
    return replace(
        session,
        context=context,
        current_intent=intent,
        env_hint=hint,
        items=tuple(item for item in session.items if item.key not in denied),
        removed=tuple(key for key in session.removed if key not in denied),
    )


def visible_sets(
    policy: Policy, context: Mapping[str, tuple[str, ...]], root: str
) -> dict[str, tuple[str, ...]]:
    """Return a session's sets without entries that name hidden paths."""
    return {name: visible_entries(policy, entries, root) for name, entries in context.items()}


def visible_entries(policy: Policy, entries: Iterable[str], root: str) -> tuple[str, ...]:
    """Return the entries of a set that name no hidden path, which may have spaces."""
    below = f"{root.rstrip('/')}/"
    return tuple(
        policy.mask(entry)
        for entry in entries
        if not policy.denies(entry.removeprefix(below)) and not policy.names_denied(entry, root)
    )


def _masked(policy: Policy, item: Item) -> Item:
    text, description = policy.mask(item.text), policy.mask(item.description)
    unchanged = (text, description) == (item.text, item.description)
    return item if unchanged else replace(item, text=text, description=description)
