"""What other rooms may call of `daemon/hooks`."""

from __future__ import annotations

from .answer import incomplete_line
from .grafts import HookGrafts
from .last_events import LastEvents
from .native_rules import folder_in, native_rules
from .payloads import RecentEvents, fields_in, formats_of, host_version
from .responder import Clock, Responder
from .turn_readings import TurnReadings
