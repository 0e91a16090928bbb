BEGIN TRANSACTION;
CREATE TABLE scopes (id TEXT PRIMARY KEY, written INTEGER NOT NULL, record TEXT NOT NULL);
INSERT INTO "scopes" VALUES('sc_1',1,'{"id": "sc_1", "root": "/srv/shop", "identity": "i1", "session_id": "ses_a", "agent_id": "agent", "agent_name": "planner", "task_type": "fix", "focus_paths": ["src/db.py"], "expanded": ["file:src/db.py"], "constraints": ["Be short"], "inherited": [], "parent_id": "", "hot": [{"path": "src/db.py", "reason": "edited"}], "created_at": "2026-03-01T12:00:00.000Z", "revision": 3}');
INSERT INTO "scopes" VALUES('sc_2',2,'{"id": "sc_2", "root": "/srv/shop", "identity": "i2", "session_id": "", "agent_id": "", "agent_name": "", "task_type": "", "focus_paths": [], "expanded": [], "constraints": [], "inherited": ["Be short"], "parent_id": "sc_1", "hot": [], "created_at": "", "revision": 0}');
CREATE INDEX scopes_by_written ON scopes (written);
COMMIT;
PRAGMA user_version = 1;
PRAGMA application_id = 0;
