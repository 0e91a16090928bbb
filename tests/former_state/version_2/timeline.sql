BEGIN TRANSACTION;
CREATE TABLE entries (
    number INTEGER PRIMARY KEY, session INTEGER NOT NULL, at INTEGER NOT NULL, kind TEXT NOT NULL,
    agent_id TEXT NOT NULL, agent_name TEXT NOT NULL, text TEXT NOT NULL, paths TEXT NOT NULL,
    context_id TEXT NOT NULL, request_id TEXT NOT NULL, experience_id TEXT NOT NULL, mark TEXT NOT NULL);
INSERT INTO "entries" VALUES(1,1,1795527593553,'start','','claude-code','','[]','c_f0a7b0003441530b','','','');
INSERT INTO "entries" VALUES(2,1,1795527593629,'prompt','','claude-code','How does login() open a session?','[]','c_929274c80730903d','req_c2d4049e715e3aaa','','');
INSERT INTO "entries" VALUES(3,1,1795527593903,'edit','','claude-code','','["shop/auth.py"]','','','','');
INSERT INTO "entries" VALUES(4,2,1795527593915,'prompt','','','How does login work? 0','[]','c_dca5acf65cf62ba5','req_780d63d6ddf78d98','','');
INSERT INTO "entries" VALUES(5,2,1795527593928,'prompt','','','How does login work? 0','[]','c_e27e014b6a472ef7','req_9df29ae1c888ad5b','','');
INSERT INTO "entries" VALUES(6,2,1795527593941,'prompt','','','How does login work? 1','[]','c_9361f33e005be585','req_78b244eab545d6b7','','');
INSERT INTO "entries" VALUES(7,2,1795527593962,'prompt','','','How does login work? 1','[]','c_2cc24befe03f2bc5','req_1cc3b541ded3f6ac','','');
INSERT INTO "entries" VALUES(8,2,1795527593968,'prompt','','','How does login work? 2','[]','c_53e50f0a89b71278','req_5cf896a6087138a9','','');
INSERT INTO "entries" VALUES(9,2,1795527593975,'prompt','','','How does login work? 2','[]','c_5f88d32f7cb66d81','req_7b738f3c2fd90c21','','');
INSERT INTO "entries" VALUES(10,2,1795527593981,'prompt','','','How does login work? 3','[]','c_2da59ba176351d7b','req_6bae03ff54d86958','','');
INSERT INTO "entries" VALUES(11,2,1795527593987,'prompt','','','How does login work? 3','[]','c_ac6d3cc6fdd7c2a5','req_9b13e7bccaf6b773','','');
INSERT INTO "entries" VALUES(12,2,1795527594003,'prompt','','','How does login work? 4','[]','c_a683a10d12462438','req_0cb1bce9a62eecd1','','');
INSERT INTO "entries" VALUES(13,2,1795527594009,'prompt','','','How does login work? 4','[]','c_c620c38d3f116c1b','req_d66130a79b1fcc7f','','');
INSERT INTO "entries" VALUES(14,2,1795527594017,'prompt','','','How does login work? 5','[]','c_7e3e7b23bb0d01aa','req_eafb7458c5bb1f01','','');
INSERT INTO "entries" VALUES(15,2,1795527594023,'prompt','','','How does login work? 5','[]','c_271c3581538f4bbf','req_919f3b31ac1a2016','','');
INSERT INTO "entries" VALUES(16,2,1795527594028,'prompt','','','How does login work? 6','[]','c_ff8a625482002194','req_b0539555e47c3315','','');
INSERT INTO "entries" VALUES(17,2,1795527594036,'prompt','','','How does login work? 6','[]','c_824c99d0f74f1730','req_df7c0ae89afd21cc','','');
INSERT INTO "entries" VALUES(18,2,1795527594042,'prompt','','','How does login work? 7','[]','c_fbf5f9f440f73edf','req_e817b50aa530b7bd','','');
INSERT INTO "entries" VALUES(19,2,1795527594049,'prompt','','','How does login work? 7','[]','c_0b6d2f6db9edac73','req_426587d720b07a75','','');
INSERT INTO "entries" VALUES(20,2,1795527594057,'prompt','','','How does login work? 8','[]','c_c515ca9d512e96ba','req_39c9757eade53069','','');
INSERT INTO "entries" VALUES(21,2,1795527594064,'prompt','','','How does login work? 8','[]','c_cde79e1e809407a6','req_c37a1ed47529d5b5','','');
INSERT INTO "entries" VALUES(22,1,1795527594077,'decision','','a','Sessions end by their own clock','["shop/sessions.py"]','','','x_ec660d48f1fe8067','x_ec660d48f1fe8067');
INSERT INTO "entries" VALUES(23,1,1795527594095,'end','','claude-code','','[]','','','','');
CREATE TABLE paths (
    id INTEGER PRIMARY KEY, project TEXT NOT NULL, path TEXT NOT NULL, shown INTEGER NOT NULL DEFAULT 0,
    used INTEGER NOT NULL DEFAULT 0, UNIQUE (project, path));
INSERT INTO "paths" VALUES(1,'/srv/shop','shop/auth.py',19,1);
INSERT INTO "paths" VALUES(2,'/srv/shop','shop/sessions.py',18,3);
CREATE TABLE places (
    turn INTEGER NOT NULL, path INTEGER NOT NULL, type TEXT NOT NULL, characters INTEGER NOT NULL,
    size INTEGER NOT NULL, edited INTEGER, read INTEGER, named INTEGER,
    PRIMARY KEY (turn, path)) WITHOUT ROWID;
INSERT INTO "places" VALUES(2,1,'document',104,127,1795527593903,NULL,NULL);
INSERT INTO "places" VALUES(3,1,'focus',172,127,NULL,NULL,NULL);
INSERT INTO "places" VALUES(3,2,'dependency',162,115,NULL,NULL,1795527593921);
INSERT INTO "places" VALUES(4,1,'focus',172,127,NULL,NULL,NULL);
INSERT INTO "places" VALUES(4,2,'dependency',162,115,NULL,NULL,1795527593930);
INSERT INTO "places" VALUES(5,1,'focus',172,127,NULL,NULL,NULL);
INSERT INTO "places" VALUES(5,2,'dependency',162,115,NULL,NULL,1795527593950);
INSERT INTO "places" VALUES(6,1,'focus',172,127,NULL,NULL,NULL);
INSERT INTO "places" VALUES(6,2,'dependency',162,115,NULL,NULL,NULL);
INSERT INTO "places" VALUES(7,1,'focus',172,127,NULL,NULL,NULL);
INSERT INTO "places" VALUES(7,2,'dependency',162,115,NULL,NULL,NULL);
INSERT INTO "places" VALUES(8,1,'focus',172,127,NULL,NULL,NULL);
INSERT INTO "places" VALUES(8,2,'dependency',162,115,NULL,NULL,NULL);
INSERT INTO "places" VALUES(9,1,'focus',172,127,NULL,NULL,NULL);
INSERT INTO "places" VALUES(9,2,'dependency',162,115,NULL,NULL,NULL);
INSERT INTO "places" VALUES(10,1,'focus',172,127,NULL,NULL,NULL);
INSERT INTO "places" VALUES(10,2,'dependency',162,115,NULL,NULL,NULL);
INSERT INTO "places" VALUES(11,1,'focus',172,127,NULL,NULL,NULL);
INSERT INTO "places" VALUES(11,2,'dependency',162,115,NULL,NULL,NULL);
INSERT INTO "places" VALUES(12,1,'focus',172,127,NULL,NULL,NULL);
INSERT INTO "places" VALUES(12,2,'dependency',162,115,NULL,NULL,NULL);
INSERT INTO "places" VALUES(13,1,'focus',172,127,NULL,NULL,NULL);
INSERT INTO "places" VALUES(13,2,'dependency',162,115,NULL,NULL,NULL);
INSERT INTO "places" VALUES(14,1,'focus',172,127,NULL,NULL,NULL);
INSERT INTO "places" VALUES(14,2,'dependency',162,115,NULL,NULL,NULL);
INSERT INTO "places" VALUES(15,1,'focus',172,127,NULL,NULL,NULL);
INSERT INTO "places" VALUES(15,2,'dependency',162,115,NULL,NULL,NULL);
INSERT INTO "places" VALUES(16,1,'focus',172,127,NULL,NULL,NULL);
INSERT INTO "places" VALUES(16,2,'dependency',162,115,NULL,NULL,NULL);
INSERT INTO "places" VALUES(17,1,'focus',172,127,NULL,NULL,NULL);
INSERT INTO "places" VALUES(17,2,'dependency',162,115,NULL,NULL,NULL);
INSERT INTO "places" VALUES(18,1,'focus',172,127,NULL,NULL,NULL);
INSERT INTO "places" VALUES(18,2,'dependency',162,115,NULL,NULL,NULL);
INSERT INTO "places" VALUES(19,1,'focus',172,127,NULL,NULL,NULL);
INSERT INTO "places" VALUES(19,2,'dependency',162,115,NULL,NULL,NULL);
INSERT INTO "places" VALUES(20,1,'focus',172,127,NULL,NULL,NULL);
INSERT INTO "places" VALUES(20,2,'dependency',162,115,NULL,NULL,NULL);
CREATE TABLE sessions (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, project TEXT NOT NULL, host TEXT NOT NULL,
    observed INTEGER NOT NULL DEFAULT 0, mined INTEGER NOT NULL DEFAULT 0,
    saved INTEGER NOT NULL DEFAULT 0, saved_files INTEGER NOT NULL DEFAULT 0);
INSERT INTO "sessions" VALUES(1,'ses_shop','/srv/shop','claude-code',1795527593903,0,0,0);
INSERT INTO "sessions" VALUES(2,'other','/srv/shop','',1795527593950,0,0,0);
CREATE TABLE turns (
    number INTEGER PRIMARY KEY, context_id TEXT NOT NULL UNIQUE, session INTEGER NOT NULL,
    project TEXT NOT NULL, at INTEGER NOT NULL, times INTEGER NOT NULL, tokens INTEGER NOT NULL,
    bytes INTEGER NOT NULL, tokens_before INTEGER NOT NULL, shown INTEGER NOT NULL,
    used INTEGER NOT NULL DEFAULT 0, types TEXT NOT NULL);
INSERT INTO "turns" VALUES(1,'c_f0a7b0003441530b',1,'/srv/shop',1795527593627,1,70,279,55,0,0,'{"project_meta": [12, 12, 47, 0, 0], "rule": [20, 20, 77, 0, 0], "skeleton": [23, 23, 91, 0, 0]}');
INSERT INTO "turns" VALUES(2,'c_929274c80730903d',1,'/srv/shop',1795527593900,1,43,174,26,1,1,'{"document": [26, 26, 106, 1, 1]}');
INSERT INTO "turns" VALUES(3,'c_dca5acf65cf62ba5',2,'/srv/shop',1795527593915,1,179,713,161,2,1,'{"project_meta": [12, 12, 47, 0, 0], "rule": [44, 44, 171, 0, 0], "focus": [43, 43, 172, 1, 0], "dependency": [41, 41, 162, 1, 1], "skeleton": [21, 21, 82, 0, 0]}');
INSERT INTO "turns" VALUES(4,'c_e27e014b6a472ef7',2,'/srv/shop',1795527593928,1,179,713,161,2,1,'{"project_meta": [12, 12, 47, 0, 0], "rule": [44, 44, 171, 0, 0], "focus": [43, 43, 172, 1, 0], "dependency": [41, 41, 162, 1, 1], "skeleton": [21, 21, 82, 0, 0]}');
INSERT INTO "turns" VALUES(5,'c_9361f33e005be585',2,'/srv/shop',1795527593941,1,179,713,161,2,1,'{"project_meta": [12, 12, 47, 0, 0], "rule": [44, 44, 171, 0, 0], "focus": [43, 43, 172, 1, 0], "dependency": [41, 41, 162, 1, 1], "skeleton": [21, 21, 82, 0, 0]}');
INSERT INTO "turns" VALUES(6,'c_2cc24befe03f2bc5',2,'/srv/shop',1795527593962,1,179,713,161,2,0,'{"project_meta": [12, 12, 47, 0, 0], "rule": [44, 44, 171, 0, 0], "focus": [43, 43, 172, 1, 0], "dependency": [41, 41, 162, 1, 0], "skeleton": [21, 21, 82, 0, 0]}');
INSERT INTO "turns" VALUES(7,'c_53e50f0a89b71278',2,'/srv/shop',1795527593968,1,179,713,161,2,0,'{"project_meta": [12, 12, 47, 0, 0], "rule": [44, 44, 171, 0, 0], "focus": [43, 43, 172, 1, 0], "dependency": [41, 41, 162, 1, 0], "skeleton": [21, 21, 82, 0, 0]}');
INSERT INTO "turns" VALUES(8,'c_5f88d32f7cb66d81',2,'/srv/shop',1795527593975,1,179,713,161,2,0,'{"project_meta": [12, 12, 47, 0, 0], "rule": [44, 44, 171, 0, 0], "focus": [43, 43, 172, 1, 0], "dependency": [41, 41, 162, 1, 0], "skeleton": [21, 21, 82, 0, 0]}');
INSERT INTO "turns" VALUES(9,'c_2da59ba176351d7b',2,'/srv/shop',1795527593981,1,179,713,161,2,0,'{"project_meta": [12, 12, 47, 0, 0], "rule": [44, 44, 171, 0, 0], "focus": [43, 43, 172, 1, 0], "dependency": [41, 41, 162, 1, 0], "skeleton": [21, 21, 82, 0, 0]}');
INSERT INTO "turns" VALUES(10,'c_ac6d3cc6fdd7c2a5',2,'/srv/shop',1795527593987,1,179,713,161,2,0,'{"project_meta": [12, 12, 47, 0, 0], "rule": [44, 44, 171, 0, 0], "focus": [43, 43, 172, 1, 0], "dependency": [41, 41, 162, 1, 0], "skeleton": [21, 21, 82, 0, 0]}');
INSERT INTO "turns" VALUES(11,'c_a683a10d12462438',2,'/srv/shop',1795527594003,1,179,713,161,2,0,'{"project_meta": [12, 12, 47, 0, 0], "rule": [44, 44, 171, 0, 0], "focus": [43, 43, 172, 1, 0], "dependency": [41, 41, 162, 1, 0], "skeleton": [21, 21, 82, 0, 0]}');
INSERT INTO "turns" VALUES(12,'c_c620c38d3f116c1b',2,'/srv/shop',1795527594009,1,179,713,161,2,0,'{"project_meta": [12, 12, 47, 0, 0], "rule": [44, 44, 171, 0, 0], "focus": [43, 43, 172, 1, 0], "dependency": [41, 41, 162, 1, 0], "skeleton": [21, 21, 82, 0, 0]}');
INSERT INTO "turns" VALUES(13,'c_7e3e7b23bb0d01aa',2,'/srv/shop',1795527594017,1,179,713,161,2,0,'{"project_meta": [12, 12, 47, 0, 0], "rule": [44, 44, 171, 0, 0], "focus": [43, 43, 172, 1, 0], "dependency": [41, 41, 162, 1, 0], "skeleton": [21, 21, 82, 0, 0]}');
INSERT INTO "turns" VALUES(14,'c_271c3581538f4bbf',2,'/srv/shop',1795527594023,1,179,713,161,2,0,'{"project_meta": [12, 12, 47, 0, 0], "rule": [44, 44, 171, 0, 0], "focus": [43, 43, 172, 1, 0], "dependency": [41, 41, 162, 1, 0], "skeleton": [21, 21, 82, 0, 0]}');
INSERT INTO "turns" VALUES(15,'c_ff8a625482002194',2,'/srv/shop',1795527594028,1,179,713,161,2,0,'{"project_meta": [12, 12, 47, 0, 0], "rule": [44, 44, 171, 0, 0], "focus": [43, 43, 172, 1, 0], "dependency": [41, 41, 162, 1, 0], "skeleton": [21, 21, 82, 0, 0]}');
INSERT INTO "turns" VALUES(16,'c_824c99d0f74f1730',2,'/srv/shop',1795527594036,1,179,713,161,2,0,'{"project_meta": [12, 12, 47, 0, 0], "rule": [44, 44, 171, 0, 0], "focus": [43, 43, 172, 1, 0], "dependency": [41, 41, 162, 1, 0], "skeleton": [21, 21, 82, 0, 0]}');
INSERT INTO "turns" VALUES(17,'c_fbf5f9f440f73edf',2,'/srv/shop',1795527594042,1,179,713,161,2,0,'{"project_meta": [12, 12, 47, 0, 0], "rule": [44, 44, 171, 0, 0], "focus": [43, 43, 172, 1, 0], "dependency": [41, 41, 162, 1, 0], "skeleton": [21, 21, 82, 0, 0]}');
INSERT INTO "turns" VALUES(18,'c_0b6d2f6db9edac73',2,'/srv/shop',1795527594049,1,179,713,161,2,0,'{"project_meta": [12, 12, 47, 0, 0], "rule": [44, 44, 171, 0, 0], "focus": [43, 43, 172, 1, 0], "dependency": [41, 41, 162, 1, 0], "skeleton": [21, 21, 82, 0, 0]}');
INSERT INTO "turns" VALUES(19,'c_c515ca9d512e96ba',2,'/srv/shop',1795527594057,1,179,713,161,2,0,'{"project_meta": [12, 12, 47, 0, 0], "rule": [44, 44, 171, 0, 0], "focus": [43, 43, 172, 1, 0], "dependency": [41, 41, 162, 1, 0], "skeleton": [21, 21, 82, 0, 0]}');
INSERT INTO "turns" VALUES(20,'c_cde79e1e809407a6',2,'/srv/shop',1795527594064,1,179,713,161,2,0,'{"project_meta": [12, 12, 47, 0, 0], "rule": [44, 44, 171, 0, 0], "focus": [43, 43, 172, 1, 0], "dependency": [41, 41, 162, 1, 0], "skeleton": [21, 21, 82, 0, 0]}');
INSERT INTO "turns" VALUES(21,'c_a568a3f74325942a',0,'/srv/shop',1795527594067,1,141,561,123,0,0,'{"project_meta": [12, 12, 47, 0, 0], "rule": [44, 44, 171, 0, 0], "focus": [34, 34, 133, 0, 0], "hot": [13, 13, 51, 0, 0], "skeleton": [20, 20, 80, 0, 0]}');
CREATE INDEX entries_by_session ON entries (session, at, number);
CREATE INDEX entries_by_age ON entries (at);
CREATE UNIQUE INDEX entries_by_mark ON entries (session, mark) WHERE mark != '';
CREATE INDEX turns_by_session ON turns (session);
CREATE INDEX turns_by_age ON turns (at);
CREATE INDEX paths_unused ON paths (shown) WHERE used = 0;
CREATE INDEX places_by_path ON places (path);
COMMIT;
PRAGMA user_version = 1;
