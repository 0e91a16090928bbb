"""The values of `daemon/sessions` that other rooms may hold."""

from __future__ import annotations

from .context_history import TEXT_FIELDS
from .context_sets import Applet, SetMode
from .delivered_context import (
    Access,
    ContextFilter,
    ContextRow,
    ContextSummary,
    DeliveredContext,
    Delivery,
    ShownPlace,
    StoredContext,
)
from .delivery_tables import RECORD_DAYS, DeliveryLimits
from .request_log import ExportQuery, LoggedRequest
from .request_record import (
    ConsideredItem,
    DroppedSlice,
    ItemPart,
    LeftOut,
    RecordedSlice,
    RequestRecord,
    Sent,
    SentMessage,
    UsedItem,
)
from .scope import Scope
from .session import NOBODY, ItemOutcome, Session, SessionState, SessionSummary
from .session_events import MASKED_CHARACTERS, StoredEntry, TimelineKind
from .session_store import META_VERSION
from .timeline import SessionEvent
from .usage_report import Grouping, UsageCounts
