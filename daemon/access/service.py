"""What other rooms may call of `daemon/access`."""

from __future__ import annotations

from . import dashboard
from .dashboard import Dashboard, dashboard_file
from .permissions import (
    Permissions,
    owner_of,
    policy_for,
    require_all,
    sees_all_of,
    visible_session,
    visible_sets,
)
