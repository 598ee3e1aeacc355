-- The first schema: the event log with its outbox, records with their change sequence, credentials.
-- Every tenant table has row-level security, forced also for its owner; the policies are at the end.

-- +goose Up

CREATE TABLE orgs (
    org_id     uuid PRIMARY KEY,
    name       text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE tokens (
    org_id      uuid NOT NULL REFERENCES orgs,
    token_id    text COLLATE "C" NOT NULL,
    actor_id    text COLLATE "C" NOT NULL,
    scopes      text[] NOT NULL,
    secret_hash bytea NOT NULL UNIQUE,
    description text NOT NULL DEFAULT '',
    created_at  timestamptz NOT NULL,
    expires_at  timestamptz,
    revoked_at  timestamptz,
    PRIMARY KEY (org_id, token_id)
);

CREATE TABLE projects (
    org_id     uuid NOT NULL REFERENCES orgs,
    project_id text COLLATE "C" NOT NULL,
    name       text NOT NULL DEFAULT '',
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (org_id, project_id)
);

-- Counters of a project: change_seq is bumped last in every transaction that changes its records, fence is the
-- highest lease token that committed. Apart from projects, so that naming a project never waits for a worker.
CREATE TABLE project_state (
    org_id     uuid NOT NULL REFERENCES orgs,
    project_id text COLLATE "C" NOT NULL,
    change_seq bigint NOT NULL DEFAULT 0,
    fence      bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (org_id, project_id)
);

-- state: 1 active, 2 paused, 3 completed, 4 failed, 5 cancelled.
CREATE TABLE sessions (
    org_id         uuid NOT NULL REFERENCES orgs,
    actor_id       text COLLATE "C" NOT NULL,
    session_id     text COLLATE "C" NOT NULL,
    session_key    bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
    project_id     text COLLATE "C" NOT NULL,
    surface        text NOT NULL,
    state          smallint NOT NULL DEFAULT 1,
    last_seq       bigint NOT NULL,
    min_event_id   text COLLATE "C" NOT NULL,
    max_event_id   text COLLATE "C" NOT NULL,
    started_at     timestamptz NOT NULL,
    last_event_at  timestamptz NOT NULL,
    ended_at       timestamptz,
    PRIMARY KEY (org_id, actor_id, session_id)
);

-- The log. event is the protobuf of the scrubbed kiroku.event.v1.Event; the columns beside it are what queries ask for.
-- Position in the organisation = org_batches.base + ix.
CREATE TABLE events (
    org_id          uuid NOT NULL,
    event_id        text COLLATE "C" NOT NULL,
    session_key     bigint NOT NULL,
    seq             bigint NOT NULL,
    batch_id        uuid NOT NULL,
    ix              integer NOT NULL,
    project_id      text COLLATE "C" NOT NULL,
    actor_id        text COLLATE "C" NOT NULL,
    kind            smallint NOT NULL,
    event_type      text COLLATE "C" NOT NULL,
    valid_at        timestamptz NOT NULL,
    received_at     timestamptz NOT NULL,
    parent_event_id text COLLATE "C",
    correlation_id  text COLLATE "C",
    tool_name       text COLLATE "C",
    success         boolean,
    late            boolean NOT NULL,
    body_hash       bytea NOT NULL,
    event           bytea NOT NULL,
    PRIMARY KEY (org_id, event_id)
) PARTITION BY RANGE (event_id);
CREATE INDEX events_session ON events (session_key, seq);
CREATE INDEX events_prompt ON events (session_key, seq) WHERE kind = 1;
CREATE INDEX events_batch ON events (batch_id, ix);

-- One row for each organisation: the position of its last event. Locked last in every append, so positions are
-- given in commit order and a reader that pages by them skips nothing.
CREATE TABLE org_log (
    org_id uuid PRIMARY KEY REFERENCES orgs,
    pos    bigint NOT NULL DEFAULT 0
);

CREATE TABLE org_batches (
    org_id       uuid NOT NULL REFERENCES orgs,
    base         bigint NOT NULL,
    batch_id     uuid NOT NULL UNIQUE,
    n            integer NOT NULL,
    min_event_id text COLLATE "C" NOT NULL,
    max_event_id text COLLATE "C" NOT NULL,
    PRIMARY KEY (org_id, base)
);

-- The outbox and the answer to "what became of my event".
-- status: 1 pending, 2 leased, 3 extracted, 4 no signal, 5 dead (kiroku.ingest.v1.EventState).
CREATE TABLE event_state (
    org_id      uuid NOT NULL,
    event_id    text COLLATE "C" NOT NULL,
    project_id  text COLLATE "C" NOT NULL,
    session_key bigint NOT NULL,
    status      smallint NOT NULL DEFAULT 1,
    attempts    smallint NOT NULL DEFAULT 0,
    fence       bigint NOT NULL DEFAULT 0,
    reason      text NOT NULL DEFAULT '',
    received_at timestamptz NOT NULL,
    updated_at  timestamptz NOT NULL,
    PRIMARY KEY (org_id, event_id)
);
CREATE INDEX event_state_unfinished ON event_state (received_at, org_id, project_id) WHERE status < 3;
CREATE INDEX event_state_dead ON event_state (org_id, updated_at DESC, event_id) WHERE status = 5;

-- record_key names a record within what it was made of ("<prompt event>/turn"), so that extracting a turn again replaces
-- its records. terms is the analysed text, from which the index of a project is built without analysing again.
-- A deleted record is not found any more; extraction may bring it back unless it was forgotten, by a person and on purpose.
-- visibility: 1 project, 2 private. observation_type: kiroku.record.v1.ObservationType.
CREATE TABLE records (
    org_id           uuid NOT NULL REFERENCES orgs,
    record_id        text COLLATE "C" NOT NULL,
    project_id       text COLLATE "C" NOT NULL,
    record_key       text COLLATE "C" NOT NULL,
    actor_id         text COLLATE "C" NOT NULL,
    session_id       text COLLATE "C" NOT NULL,
    visibility       smallint NOT NULL DEFAULT 1,
    title            text NOT NULL,
    summary          text NOT NULL,
    facts            text[] NOT NULL DEFAULT '{}',
    concepts         text[] NOT NULL DEFAULT '{}',
    files            text[] NOT NULL DEFAULT '{}',
    observation_type smallint NOT NULL,
    strategy         text NOT NULL,
    source_event_ids text[] COLLATE "C" NOT NULL,
    confidence       real NOT NULL,
    valid_from       timestamptz NOT NULL,
    valid_to         timestamptz,
    supersedes       text[] COLLATE "C" NOT NULL DEFAULT '{}',
    superseded_by    text COLLATE "C",
    pinned           boolean NOT NULL DEFAULT false,
    seen_count       integer NOT NULL DEFAULT 1,
    content_hash     bytea NOT NULL,
    terms            bytea NOT NULL,
    change_seq       bigint NOT NULL,
    created_at       timestamptz NOT NULL,
    updated_at       timestamptz NOT NULL,
    deleted_at       timestamptz,
    forgotten        boolean NOT NULL DEFAULT false,
    PRIMARY KEY (org_id, record_id),
    UNIQUE (org_id, project_id, record_key)
);
CREATE INDEX records_change ON records (org_id, project_id, change_seq);
CREATE INDEX records_newest ON records (org_id, project_id, valid_from DESC, record_id DESC) WHERE deleted_at IS NULL;
CREATE INDEX records_content ON records (org_id, project_id, content_hash) WHERE deleted_at IS NULL;

CREATE TABLE record_sources (
    org_id    uuid NOT NULL,
    event_id  text COLLATE "C" NOT NULL,
    record_id text COLLATE "C" NOT NULL,
    PRIMARY KEY (org_id, event_id, record_id),
    FOREIGN KEY (org_id, record_id) REFERENCES records ON DELETE CASCADE
);
CREATE INDEX record_sources_record ON record_sources (org_id, record_id);

CREATE TABLE extraction_runs (
    org_id      uuid NOT NULL REFERENCES orgs,
    run_id      text COLLATE "C" NOT NULL,
    project_id  text COLLATE "C" NOT NULL,
    strategy    text NOT NULL,
    events      integer NOT NULL,
    records     integer NOT NULL,
    error       text NOT NULL DEFAULT '',
    started_at  timestamptz NOT NULL,
    duration_us bigint NOT NULL,
    PRIMARY KEY (org_id, run_id)
);
CREATE INDEX extraction_runs_project ON extraction_runs (org_id, project_id, run_id DESC);

-- purpose: kiroku.retrieval.v1.Purpose.
CREATE TABLE injections (
    org_id       uuid NOT NULL REFERENCES orgs,
    injection_id text COLLATE "C" NOT NULL,
    project_id   text COLLATE "C" NOT NULL,
    actor_id     text COLLATE "C" NOT NULL,
    session_id   text COLLATE "C" NOT NULL,
    event_id     text COLLATE "C",
    purpose      smallint NOT NULL,
    record_ids   text[] COLLATE "C" NOT NULL,
    scores       real[] NOT NULL,
    tokens       integer NOT NULL,
    created_at   timestamptz NOT NULL,
    PRIMARY KEY (org_id, injection_id)
);

-- What a session already got since its last compaction: the durable claim that keeps a record, or the start brief
-- (item 'brief'), from being given twice.
CREATE TABLE injection_claims (
    org_id      uuid NOT NULL REFERENCES orgs,
    actor_id    text COLLATE "C" NOT NULL,
    session_id  text COLLATE "C" NOT NULL,
    compactions integer NOT NULL,
    item        text COLLATE "C" NOT NULL,
    claimed_at  timestamptz NOT NULL,
    PRIMARY KEY (org_id, actor_id, session_id, compactions, item)
);

-- +goose StatementBegin
DO $$
DECLARE t text;
BEGIN
    FOREACH t IN ARRAY ARRAY['orgs', 'tokens', 'projects', 'project_state', 'sessions', 'events', 'org_log', 'org_batches',
        'event_state', 'records', 'record_sources', 'extraction_runs', 'injections', 'injection_claims']
    LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', t);
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', t);
        IF t <> 'records' THEN
            EXECUTE format($p$CREATE POLICY tenant ON %I TO kiroku_app
                USING (org_id = (SELECT NULLIF(current_setting('kiroku.org', true), '')::uuid))$p$, t);
        END IF;
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %I TO kiroku_app', t);
    END LOOP;
END $$;
-- +goose StatementEnd

-- Private records are their actor's alone; '*' is the services' own work (extraction, reconciliation).
CREATE POLICY tenant ON records TO kiroku_app
    USING (org_id = (SELECT NULLIF(current_setting('kiroku.org', true), '')::uuid)
        AND (visibility = 1
            OR actor_id = (SELECT current_setting('kiroku.actor', true))
            OR (SELECT current_setting('kiroku.actor', true)) = '*'));

-- The worker role crosses organisations, on as little as it can: to find a token's organisation, to feed unfinished events to the buffer
-- and to tell their age.
CREATE POLICY worker ON orgs FOR SELECT TO kiroku_worker USING (true);
CREATE POLICY worker ON tokens FOR SELECT TO kiroku_worker USING (true);
CREATE POLICY worker ON events FOR SELECT TO kiroku_worker USING (true);
CREATE POLICY worker ON sessions FOR SELECT TO kiroku_worker USING (true);
CREATE POLICY worker ON org_batches FOR SELECT TO kiroku_worker USING (true);
CREATE POLICY worker ON event_state TO kiroku_worker USING (true);
CREATE POLICY worker ON project_state TO kiroku_worker USING (true);
GRANT SELECT ON orgs, tokens, events, org_batches, sessions TO kiroku_worker;
GRANT SELECT, UPDATE ON event_state TO kiroku_worker;
GRANT SELECT, INSERT, UPDATE ON project_state TO kiroku_worker;
