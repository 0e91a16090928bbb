"""The values of `daemon/rules` that other rooms may hold."""

from __future__ import annotations

from .agent_items import AgentItems, ItemOwner
from .approvals import APPROVALS_VERSION, ServerFileState, ServerState
from .instruction_files import RuleSet
from .instruction_places import RuleFiles
from .item_search import ItemMatches
from .item_store import ITEMS_VERSION
from .items import IncludeMode, Item, ItemKey, ItemPlan, ItemType, LeftOutItem, Owner, PlannedItem
from .selection import ItemScore, Profiles
from .server_config import ServerFile
