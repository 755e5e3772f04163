-- Types

create type svc.audit_operation as enum ('INSERT', 'UPDATE', 'DELETE', 'TRUNCATE', 'SNAPSHOT', 'GONE', 'DDL', 'READ');
create type svc.audit_severity as enum ('low', 'medium', 'high', 'critical');
create type svc.webhook_lane as enum ('due', 'later', 'behind', 'parked');

-- Tables

create table svc.audit_epoch (
    is_only boolean default true not null,
    here jsonb default svc.audit_new_epoch() not null,
    constraint audit_epoch_is_only_check CHECK (is_only),
    constraint audit_epoch_pkey PRIMARY KEY (is_only)
);

create table svc.audit_epochs (
    name text not null,
    began_at timestamp with time zone not null,
    constraint audit_epochs_pkey PRIMARY KEY (name)
);

create table svc.audit_gaps (
    id bigint generated always as identity not null,
    table_name text collate "C" not null,
    what text not null,
    name text not null,
    found_at timestamp with time zone default clock_timestamp() not null,
    constraint audit_gaps_pkey PRIMARY KEY (id),
    constraint audit_gaps_table_name_what_name_key UNIQUE (table_name, what, name)
);

create table svc.audit_hash_key (
    is_only boolean default true not null,
    inner_pad bytea not null,
    outer_pad bytea not null,
    constraint audit_hash_key_is_only_check CHECK (is_only),
    constraint audit_hash_key_pkey PRIMARY KEY (is_only)
);

create table svc.audit_held_records (
    hold_id bigint not null,
    table_name text collate "C" not null,
    record_id text collate "C" not null,
    followed_at timestamp with time zone,
    constraint audit_held_records_pkey PRIMARY KEY (hold_id, table_name, record_id)
);
CREATE INDEX audit_held_records_record ON svc.audit_held_records USING btree (table_name, record_id);

create table svc.audit_holds (
    id bigint generated always as identity not null,
    table_name text collate "C" not null,
    record_id text collate "C",
    reason text not null,
    held_at timestamp with time zone default now() not null,
    held_by text not null,
    lifted_at timestamp with time zone,
    lifted_by text,
    lift_reason text,
    constraint audit_holds_check CHECK ((((lifted_at IS NULL) = (lifted_by IS NULL)) AND ((lifted_at IS NULL) = (lift_reason IS NULL)))),
    constraint audit_holds_lift_reason_check CHECK (((length(lift_reason) >= 1) AND (length(lift_reason) <= 2000))),
    constraint audit_holds_pkey PRIMARY KEY (id),
    constraint audit_holds_reason_check CHECK (((length(reason) >= 1) AND (length(reason) <= 2000))),
    constraint audit_holds_record_id_check CHECK ((record_id <> ''::text))
);
CREATE UNIQUE INDEX audit_holds_target ON svc.audit_holds USING btree (table_name, COALESCE(record_id, ''::text)) WHERE (lifted_at IS NULL);
CREATE TRIGGER "00_svc_audit_truncate" AFTER TRUNCATE ON svc.audit_holds FOR EACH STATEMENT EXECUTE FUNCTION svc.capture_svc_audit_holds();
CREATE TRIGGER "00_svc_audit_update" AFTER UPDATE ON svc.audit_holds FOR EACH ROW WHEN ((old.* *<> new.*)) EXECUTE FUNCTION svc.capture_svc_audit_holds();
CREATE TRIGGER "00_svc_audit_write" AFTER INSERT OR DELETE ON svc.audit_holds FOR EACH ROW EXECUTE FUNCTION svc.capture_svc_audit_holds();
CREATE TRIGGER audit_guard_row BEFORE DELETE OR UPDATE ON svc.audit_holds FOR EACH ROW EXECUTE FUNCTION svc.audit_guard_holds();
CREATE TRIGGER audit_guard_truncate BEFORE TRUNCATE ON svc.audit_holds FOR EACH STATEMENT EXECUTE FUNCTION svc.audit_guard_holds();

create table svc.audit_logs (
    id bigint generated always as identity not null,
    "timestamp" timestamp with time zone default clock_timestamp() not null,
    xact_id bigint default txid_current() not null,
    table_name text collate "C" not null,
    table_oid oid not null,
    operation svc.audit_operation not null,
    record_id text collate "C",
    moved_from text collate "C",
    actor_id text collate "C",
    tenant_id text collate "C",
    db_user text collate "C" default SESSION_USER not null,
    db_role text collate "C",
    before_data jsonb,
    after_data jsonb,
    changed_fields text[],
    label text,
    severity svc.audit_severity,
    compliance text[],
    description text,
    redacted_fields text[],
    context jsonb,
    erased_leaf bytea,
    partition text collate "C",
    constraint audit_logs_pkey PRIMARY KEY ("timestamp", id)
) partition by RANGE ("timestamp");
CREATE INDEX audit_logs_moved ON ONLY svc.audit_logs USING btree (table_name, moved_from, "timestamp") WHERE (moved_from IS NOT NULL);
CREATE INDEX audit_logs_order ON ONLY svc.audit_logs USING brin (id, xact_id, "timestamp") WITH (pages_per_range='32', autosummarize='on');
CREATE INDEX audit_logs_record ON ONLY svc.audit_logs USING btree (table_name, record_id, "timestamp");
CREATE INDEX audit_logs_severity ON ONLY svc.audit_logs USING btree ("timestamp", id) WHERE (severity IS NOT NULL);
CREATE TRIGGER audit_guard_row BEFORE DELETE OR UPDATE ON svc.audit_logs FOR EACH ROW EXECUTE FUNCTION svc.audit_guard();
CREATE TRIGGER audit_guard_truncate BEFORE TRUNCATE ON svc.audit_logs FOR EACH STATEMENT EXECUTE FUNCTION svc.audit_guard();

create table svc.audit_omissions (
    table_name text collate "C" not null,
    since timestamp with time zone default clock_timestamp() not null,
    ignored text[] not null,
    is_conditional boolean not null,
    constraint audit_omissions_pkey PRIMARY KEY (table_name)
);

create table svc.audit_relations (
    table_name text collate "C" not null,
    relation oid not null,
    name text not null,
    is_part boolean not null,
    place text not null,
    facts jsonb not null,
    constraint audit_relations_pkey PRIMARY KEY (table_name, relation)
);

create table svc.audit_removals (
    entry_id bigint not null,
    "timestamp" timestamp with time zone not null,
    who text not null,
    content text not null,
    constraint audit_removals_pkey PRIMARY KEY (entry_id)
);
CREATE TRIGGER audit_guard_row BEFORE DELETE OR UPDATE ON svc.audit_removals FOR EACH ROW EXECUTE FUNCTION svc.audit_guard();
CREATE TRIGGER audit_guard_truncate BEFORE TRUNCATE ON svc.audit_removals FOR EACH STATEMENT EXECUTE FUNCTION svc.audit_guard();

create table svc.audit_removed_leaves (
    removal bigint not null,
    id bigint not null,
    "timestamp" timestamp with time zone not null,
    digest bytea not null,
    constraint audit_removed_leaves_digest_check CHECK ((length(digest) = 32)),
    constraint audit_removed_leaves_pkey PRIMARY KEY (removal, id)
);
CREATE INDEX audit_removed_leaves_id ON svc.audit_removed_leaves USING btree (id);
CREATE INDEX audit_removed_leaves_time ON svc.audit_removed_leaves USING brin ("timestamp") WITH (pages_per_range='32', autosummarize='on');
CREATE TRIGGER audit_guard_row BEFORE DELETE OR UPDATE ON svc.audit_removed_leaves FOR EACH ROW EXECUTE FUNCTION svc.audit_guard();
CREATE TRIGGER audit_guard_truncate BEFORE TRUNCATE ON svc.audit_removed_leaves FOR EACH STATEMENT EXECUTE FUNCTION svc.audit_guard();

create table svc.audit_seal_leaves (
    seal bigint not null,
    leaves bytea not null,
    constraint audit_seal_leaves_leaves_check CHECK (((length(leaves) % 48) = 0)),
    constraint audit_seal_leaves_pkey PRIMARY KEY (seal),
    constraint audit_seal_leaves_seal_fkey FOREIGN KEY (seal) REFERENCES svc.audit_seals(number)
);
CREATE TRIGGER audit_guard_row BEFORE DELETE OR UPDATE ON svc.audit_seal_leaves FOR EACH ROW EXECUTE FUNCTION svc.audit_guard();
CREATE TRIGGER audit_guard_truncate BEFORE TRUNCATE ON svc.audit_seal_leaves FOR EACH STATEMENT EXECUTE FUNCTION svc.audit_guard();

create table svc.audit_seal_timestamps (
    seal bigint not null,
    answer bytea not null,
    added_at timestamp with time zone default clock_timestamp() not null,
    constraint audit_seal_timestamps_answer_check CHECK (((octet_length(answer) >= 1) AND (octet_length(answer) <= 16384))),
    constraint audit_seal_timestamps_pkey PRIMARY KEY (seal),
    constraint audit_seal_timestamps_seal_fkey FOREIGN KEY (seal) REFERENCES svc.audit_seals(number)
);
CREATE TRIGGER audit_guard_row BEFORE DELETE OR UPDATE ON svc.audit_seal_timestamps FOR EACH ROW EXECUTE FUNCTION svc.audit_guard();
CREATE TRIGGER audit_guard_truncate BEFORE TRUNCATE ON svc.audit_seal_timestamps FOR EACH STATEMENT EXECUTE FUNCTION svc.audit_guard();

create table svc.audit_seals (
    number bigint not null,
    epoch text not null,
    epoch_began_at timestamp with time zone not null,
    from_xact_id bigint not null,
    until_xact_id bigint not null,
    after_id bigint not null,
    until_id bigint not null,
    entries integer not null,
    root bytea not null,
    previous bytea not null,
    sealed_at timestamp with time zone not null,
    key_id text not null,
    signature bytea not null,
    version integer not null,
    constraint audit_seals_check CHECK ((until_xact_id >= from_xact_id)),
    constraint audit_seals_check1 CHECK ((until_id >= after_id)),
    constraint audit_seals_entries_check CHECK ((entries >= 0)),
    constraint audit_seals_number_check CHECK ((number > 0)),
    constraint audit_seals_pkey PRIMARY KEY (number),
    constraint audit_seals_previous_check CHECK ((length(previous) = 32)),
    constraint audit_seals_root_check CHECK ((length(root) = 32)),
    constraint audit_seals_signature_check CHECK ((length(signature) = 64)),
    constraint audit_seals_version_check CHECK ((version = ANY (ARRAY[1, 2])))
);
CREATE INDEX audit_seals_xact ON svc.audit_seals USING btree (until_xact_id);
CREATE TRIGGER audit_guard_row BEFORE DELETE OR UPDATE ON svc.audit_seals FOR EACH ROW EXECUTE FUNCTION svc.audit_guard();
CREATE TRIGGER audit_guard_truncate BEFORE TRUNCATE ON svc.audit_seals FOR EACH STATEMENT EXECUTE FUNCTION svc.audit_guard();

create table svc.audit_shapes (
    relation oid not null,
    epoch text not null,
    table_name text collate "C" not null,
    root oid not null,
    seen text not null,
    columns jsonb not null,
    facts jsonb not null,
    constraint audit_shapes_pkey PRIMARY KEY (relation)
);
CREATE INDEX audit_shapes_root_idx ON svc.audit_shapes USING btree (root);
CREATE INDEX audit_shapes_table_name_idx ON svc.audit_shapes USING btree (table_name);

create table svc.audit_table_names (
    epoch text not null,
    table_name text collate "C" not null,
    table_oid oid not null,
    constraint audit_table_names_pkey PRIMARY KEY (epoch, table_name, table_oid)
);

create table svc.audit_verifications (
    id bigint generated always as identity not null,
    verified_at timestamp with time zone default clock_timestamp() not null,
    first_seal bigint,
    last_seal bigint,
    entries bigint not null,
    unsealed bigint not null,
    findings integer not null,
    is_complete boolean not null,
    has_copies boolean not null,
    keys text[] not null,
    verified_by text not null,
    timestamps bigint,
    unverified_timestamps bigint default 0 not null,
    constraint audit_verifications_check CHECK ((((first_seal IS NULL) = (last_seal IS NULL)) AND (first_seal <= last_seal))),
    constraint audit_verifications_entries_check CHECK ((entries >= 0)),
    constraint audit_verifications_findings_check CHECK ((findings >= 0)),
    constraint audit_verifications_keys_check CHECK (((cardinality(keys) <= 100) AND (length(array_to_string(keys, ','::text)) <= 4000))),
    constraint audit_verifications_pkey PRIMARY KEY (id),
    constraint audit_verifications_timestamps_check CHECK ((timestamps >= 0)),
    constraint audit_verifications_unsealed_check CHECK ((unsealed >= 0)),
    constraint audit_verifications_unverified_timestamps_check CHECK ((unverified_timestamps >= 0)),
    constraint audit_verifications_verified_by_check CHECK ((length(verified_by) <= 200))
);
CREATE TRIGGER audit_guard_row BEFORE DELETE OR UPDATE ON svc.audit_verifications FOR EACH ROW EXECUTE FUNCTION svc.audit_guard();
CREATE TRIGGER audit_guard_truncate BEFORE TRUNCATE ON svc.audit_verifications FOR EACH STATEMENT EXECUTE FUNCTION svc.audit_guard();

create table svc.console_events (
    id bigint generated always as identity not null,
    occurred_at timestamp with time zone default now() not null,
    event text not null,
    session_id uuid,
    email text not null,
    ip inet,
    user_agent text,
    detail text,
    constraint console_events_event_check CHECK ((event = ANY (ARRAY['link_requested'::text, 'mail_failed'::text, 'code_rejected'::text, 'link_locked'::text, 'code_accepted'::text, 'signed_in'::text, 'session_revoked'::text, 'log_exported'::text, 'call_refused'::text, 'link_made'::text, 'token_added'::text, 'token_revoked'::text, 'portal_link_made'::text, 'portal_link_revoked'::text, 'portal_opened'::text, 'view_added'::text, 'view_changed'::text, 'view_deleted'::text]))),
    constraint console_events_pkey PRIMARY KEY (id),
    constraint console_events_user_agent_check CHECK ((length(user_agent) <= 256))
);
CREATE INDEX console_events_occurred ON svc.console_events USING btree (occurred_at);
CREATE TRIGGER audit_guard_row BEFORE DELETE OR UPDATE ON svc.console_events FOR EACH ROW EXECUTE FUNCTION svc.console_guard_events();
CREATE TRIGGER audit_guard_truncate BEFORE TRUNCATE ON svc.console_events FOR EACH STATEMENT EXECUTE FUNCTION svc.console_guard_events();

create table svc.console_forms (
    digest bytea not null,
    session_hash bytea not null,
    answer text,
    sent_at timestamp with time zone default now() not null,
    constraint console_forms_answer_check CHECK ((octet_length(answer) <= 16384)),
    constraint console_forms_digest_check CHECK ((octet_length(digest) = 32)),
    constraint console_forms_pkey PRIMARY KEY (digest),
    constraint console_forms_session_hash_check CHECK ((octet_length(session_hash) = 32))
);
CREATE INDEX console_forms_sent ON svc.console_forms USING btree (sent_at);
CREATE INDEX console_forms_session ON svc.console_forms USING btree (session_hash, sent_at);

create table svc.console_magic_links (
    session_id uuid not null,
    email text not null,
    device_hash bytea not null,
    code_hash bytea not null,
    status text default 'pending'::text not null,
    failed_attempts integer default 0 not null,
    max_attempts integer not null,
    ip inet,
    user_agent text,
    created_at timestamp with time zone default now() not null,
    expires_at timestamp with time zone not null,
    verified_at timestamp with time zone,
    claimed_at timestamp with time zone,
    polled_at timestamp with time zone,
    is_known_device boolean default false not null,
    made_by text,
    constraint console_magic_links_check CHECK (((failed_attempts >= 0) AND (failed_attempts <= max_attempts))),
    constraint console_magic_links_check1 CHECK (((status = 'locked'::text) = (failed_attempts = max_attempts))),
    constraint console_magic_links_check2 CHECK (((status = ANY (ARRAY['verified'::text, 'claimed'::text])) = (verified_at IS NOT NULL))),
    constraint console_magic_links_check3 CHECK (((status = 'claimed'::text) = (claimed_at IS NOT NULL))),
    constraint console_magic_links_code_hash_check CHECK ((octet_length(code_hash) = 32)),
    constraint console_magic_links_device_hash_check CHECK ((octet_length(device_hash) = 32)),
    constraint console_magic_links_max_attempts_check CHECK ((max_attempts > 0)),
    constraint console_magic_links_pkey PRIMARY KEY (session_id),
    constraint console_magic_links_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'verified'::text, 'claimed'::text, 'locked'::text]))),
    constraint console_magic_links_user_agent_check CHECK ((length(user_agent) <= 256))
) with (fillfactor=70);
CREATE INDEX console_magic_links_created ON svc.console_magic_links USING btree (created_at);

create table svc.console_portal_links (
    id uuid not null,
    tenant text not null,
    token_hash bytea not null,
    session_lifetime interval not null,
    created_at timestamp with time zone default now() not null,
    created_by text not null,
    expires_at timestamp with time zone not null,
    opened_at timestamp with time zone,
    revoked_at timestamp with time zone,
    revoked_by text,
    constraint console_portal_links_check CHECK (((revoked_at IS NULL) = (revoked_by IS NULL))),
    constraint console_portal_links_check1 CHECK (((opened_at IS NULL) OR (revoked_at IS NULL))),
    constraint console_portal_links_pkey PRIMARY KEY (id),
    constraint console_portal_links_session_lifetime_check CHECK ((session_lifetime > '00:00:00'::interval)),
    constraint console_portal_links_token_hash_check CHECK ((octet_length(token_hash) = 32)),
    constraint console_portal_links_token_hash_key UNIQUE (token_hash)
);
CREATE INDEX console_portal_links_created ON svc.console_portal_links USING btree (created_at);

create unlogged table svc.console_rate (
    key text not null,
    hits integer not null,
    ends_at timestamp with time zone not null,
    constraint console_rate_hits_check CHECK ((hits >= 0)),
    constraint console_rate_pkey PRIMARY KEY (key)
) with (fillfactor=50);

create table svc.console_sessions (
    id uuid not null,
    email text not null,
    permission text not null,
    tenant text,
    token_hash bytea not null,
    ip inet,
    user_agent text,
    created_at timestamp with time zone default now() not null,
    expires_at timestamp with time zone not null,
    idle_timeout interval default '08:00:00'::interval not null,
    revoked_at timestamp with time zone,
    revoked_by text,
    constraint console_sessions_check CHECK (((revoked_at IS NULL) = (revoked_by IS NULL))),
    constraint console_sessions_idle_timeout_check CHECK ((idle_timeout > '00:00:00'::interval)),
    constraint console_sessions_permission_check CHECK ((permission = ANY (ARRAY['read'::text, 'write'::text, 'admin'::text]))),
    constraint console_sessions_pkey PRIMARY KEY (id),
    constraint console_sessions_token_hash_check CHECK ((octet_length(token_hash) = 32)),
    constraint console_sessions_token_hash_key UNIQUE (token_hash),
    constraint console_sessions_user_agent_check CHECK ((length(user_agent) <= 256))
);
CREATE INDEX console_sessions_created ON svc.console_sessions USING btree (created_at, id);
CREATE TRIGGER "00_svc_audit_truncate" AFTER TRUNCATE ON svc.console_sessions FOR EACH STATEMENT EXECUTE FUNCTION svc.capture_svc_console_sessions();
CREATE TRIGGER "00_svc_audit_update" AFTER UPDATE ON svc.console_sessions FOR EACH ROW WHEN ((old.* *<> new.*)) EXECUTE FUNCTION svc.capture_svc_console_sessions();
CREATE TRIGGER "00_svc_audit_write" AFTER INSERT OR DELETE ON svc.console_sessions FOR EACH ROW EXECUTE FUNCTION svc.capture_svc_console_sessions();

create table svc.console_tokens (
    id uuid not null,
    name text not null,
    permission text not null,
    tenant text,
    token_hash bytea not null,
    created_at timestamp with time zone default now() not null,
    created_by text not null,
    expires_at timestamp with time zone not null,
    revoked_at timestamp with time zone,
    revoked_by text,
    constraint console_tokens_check CHECK (((revoked_at IS NULL) = (revoked_by IS NULL))),
    constraint console_tokens_name_check CHECK ((name ~ '^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$'::text)),
    constraint console_tokens_permission_check CHECK ((permission = ANY (ARRAY['read'::text, 'write'::text, 'admin'::text]))),
    constraint console_tokens_pkey PRIMARY KEY (id),
    constraint console_tokens_token_hash_check CHECK ((octet_length(token_hash) = 32)),
    constraint console_tokens_token_hash_key UNIQUE (token_hash)
);
CREATE INDEX console_tokens_created ON svc.console_tokens USING btree (created_at, id);
CREATE UNIQUE INDEX console_tokens_name ON svc.console_tokens USING btree (name) WHERE (revoked_at IS NULL);
CREATE TRIGGER "00_svc_audit_truncate" AFTER TRUNCATE ON svc.console_tokens FOR EACH STATEMENT EXECUTE FUNCTION svc.capture_svc_console_tokens();
CREATE TRIGGER "00_svc_audit_update" AFTER UPDATE ON svc.console_tokens FOR EACH ROW WHEN ((old.* *<> new.*)) EXECUTE FUNCTION svc.capture_svc_console_tokens();
CREATE TRIGGER "00_svc_audit_write" AFTER INSERT OR DELETE ON svc.console_tokens FOR EACH ROW EXECUTE FUNCTION svc.capture_svc_console_tokens();

create table svc.console_uses (
    id uuid not null,
    used_at timestamp with time zone not null,
    constraint console_uses_pkey PRIMARY KEY (id)
) with (fillfactor=50);

create table svc.console_views (
    id uuid not null,
    list text not null,
    owner text,
    name text not null,
    question text not null,
    created_at timestamp with time zone default now() not null,
    created_by text not null,
    updated_at timestamp with time zone default now() not null,
    updated_by text not null,
    constraint console_views_list_check CHECK ((list = ANY (ARRAY['audit'::text, 'deliveries'::text, 'messages'::text, 'endpoints'::text]))),
    constraint console_views_name_check CHECK (((name = btrim(name)) AND ((char_length(name) >= 1) AND (char_length(name) <= 60)))),
    constraint console_views_owner_check CHECK (((char_length(owner) >= 1) AND (char_length(owner) <= 512))),
    constraint console_views_pkey PRIMARY KEY (id),
    constraint console_views_question_check CHECK (((char_length(question) >= 1) AND (char_length(question) <= 2000)))
);
CREATE UNIQUE INDEX console_views_name ON svc.console_views USING btree (COALESCE(owner, ''::text), list, name);

create table svc.installation (
    is_only boolean default true not null,
    version text not null,
    has_roles boolean not null,
    access_sha256 text not null,
    revision bigint default 1 not null,
    hash_key_sha256 text,
    configuration json,
    constraint installation_is_only_check CHECK (is_only),
    constraint installation_pkey PRIMARY KEY (is_only)
);

create table svc.installed_inventory (
    kind text not null,
    identity text not null,
    of_table text not null,
    sql text,
    definition text,
    postgres_major integer default ((current_setting('server_version_num'::text))::integer / 10000) not null,
    constraint installed_inventory_kind_check CHECK ((kind = ANY (ARRAY['table'::text, 'column'::text, 'index'::text, 'constraint'::text]))),
    constraint installed_inventory_pkey PRIMARY KEY (kind, identity)
);

create table svc.installed_objects (
    kind text not null,
    identity text not null,
    audited_table text,
    source_sha256 text not null,
    catalog_sha256 text not null,
    postgres_major integer default ((current_setting('server_version_num'::text))::integer / 10000) not null,
    installed_at timestamp with time zone default now() not null,
    constraint installed_objects_kind_check CHECK ((kind = ANY (ARRAY['function'::text, 'view'::text, 'trigger'::text]))),
    constraint installed_objects_pkey PRIMARY KEY (kind, identity)
);

create table svc.maintenance (
    task text not null,
    succeeded_at timestamp with time zone,
    problem text,
    "position" text,
    findings text,
    constraint maintenance_pkey PRIMARY KEY (task),
    constraint maintenance_task_check CHECK ((task = ANY (ARRAY['maintenance'::text, 'purge'::text, 'sealing'::text, 'reconciliation'::text, 'capture'::text])))
);

create table svc.migrations (
    number integer not null,
    name text not null,
    sha256 text not null,
    applied_at timestamp with time zone default now() not null,
    constraint migrations_pkey PRIMARY KEY (number)
);

create table svc.seal_destinations (
    name text not null,
    last_seal bigint,
    copied_at timestamp with time zone,
    problem text,
    seen_at timestamp with time zone default clock_timestamp() not null,
    kind text default 'copies'::text not null,
    next_at timestamp with time zone,
    shown_until timestamp with time zone,
    constraint seal_destinations_kind_check CHECK ((kind = ANY (ARRAY['copies'::text, 'timestamps'::text]))),
    constraint seal_destinations_name_check CHECK (((length(name) >= 1) AND (length(name) <= 500))),
    constraint seal_destinations_pkey PRIMARY KEY (name)
);

create table svc.tenants (
    id text default (gen_random_uuid())::text not null,
    name text not null,
    created_at timestamp with time zone default now() not null,
    updated_at timestamp with time zone default now() not null,
    constraint tenants_id_check CHECK (((char_length(id) >= 1) AND (char_length(id) <= 400) AND (octet_length(id) <= 1024))),
    constraint tenants_name_check CHECK (((name = btrim(name)) AND ((char_length(name) >= 1) AND (char_length(name) <= 200)))),
    constraint tenants_pkey PRIMARY KEY (id)
);
CREATE UNIQUE INDEX tenants_name ON svc.tenants USING btree (name);
CREATE TRIGGER "00_svc_audit_truncate" AFTER TRUNCATE ON svc.tenants FOR EACH STATEMENT EXECUTE FUNCTION svc.capture_svc_tenants();
CREATE TRIGGER "00_svc_audit_update" AFTER UPDATE ON svc.tenants FOR EACH ROW WHEN ((old.* *<> new.*)) EXECUTE FUNCTION svc.capture_svc_tenants();
CREATE TRIGGER "00_svc_audit_write" AFTER INSERT OR DELETE ON svc.tenants FOR EACH ROW EXECUTE FUNCTION svc.capture_svc_tenants();
CREATE TRIGGER tenants_gone_row AFTER DELETE OR UPDATE OF id ON svc.tenants FOR EACH ROW EXECUTE FUNCTION svc.console_tenant_gone();
CREATE TRIGGER tenants_gone_truncate BEFORE TRUNCATE ON svc.tenants FOR EACH STATEMENT EXECUTE FUNCTION svc.console_tenant_gone();

create table svc.webhook_blocks (
    delivery_id uuid not null,
    endpoint_id uuid not null,
    key_id bigint not null,
    sequence bigint not null,
    constraint webhook_blocks_pkey PRIMARY KEY (delivery_id)
);
CREATE INDEX webhook_blocks_key ON svc.webhook_blocks USING btree (endpoint_id, key_id, sequence);

create table svc.webhook_deliveries (
    id uuid not null,
    message_id uuid not null,
    endpoint_id uuid not null,
    event_name text not null,
    status text default 'pending'::text not null,
    attempts integer default 0 not null,
    lost_attempts integer default 0 not null,
    max_attempts integer not null,
    manual_attempt integer,
    next_attempt_at timestamp with time zone default now(),
    finished_at timestamp with time zone,
    failure text,
    last_status_code integer,
    last_error text,
    created_at timestamp with time zone default now() not null,
    updated_at timestamp with time zone default now() not null,
    throttled_attempts integer default 0 not null,
    throttled_since timestamp with time zone,
    constraint webhook_deliveries_check CHECK (((lost_attempts >= 0) AND (lost_attempts <= attempts))),
    constraint webhook_deliveries_check1 CHECK (((status = 'pending'::text) = (next_attempt_at IS NOT NULL))),
    constraint webhook_deliveries_check2 CHECK (((status <> 'pending'::text) = (finished_at IS NOT NULL))),
    constraint webhook_deliveries_check3 CHECK ((NOT (failure IS DISTINCT FROM NULLIF(NULLIF(status, 'pending'::text), 'delivered'::text)))),
    constraint webhook_deliveries_failure_check CHECK ((failure = ANY (ARRAY['failed'::text, 'canceled'::text]))),
    constraint webhook_deliveries_max_attempts_check CHECK ((max_attempts > 0)),
    constraint webhook_deliveries_pkey PRIMARY KEY (id)
) with (fillfactor=60, autovacuum_vacuum_threshold=1000, autovacuum_vacuum_scale_factor=0.02, autovacuum_vacuum_insert_scale_factor=0.1, autovacuum_analyze_scale_factor=0.05, autovacuum_vacuum_cost_delay=0);
CREATE INDEX webhook_deliveries_endpoint_failure ON svc.webhook_deliveries USING btree (endpoint_id, id) WHERE (failure IS NOT NULL);
CREATE INDEX webhook_deliveries_failure ON svc.webhook_deliveries USING btree (failure, id) WHERE (failure IS NOT NULL);
CREATE INDEX webhook_deliveries_list ON svc.webhook_deliveries USING btree (endpoint_id, id DESC);
CREATE UNIQUE INDEX webhook_deliveries_message ON svc.webhook_deliveries USING btree (message_id, endpoint_id);

create table svc.webhook_delivery_attempts (
    id bigint generated always as identity not null,
    delivery_id uuid not null,
    endpoint_id uuid not null,
    attempt integer not null,
    cause text default 'auto'::text not null,
    started_at timestamp with time zone not null,
    duration_ms integer,
    outcome text not null,
    status_code integer,
    error text,
    response_headers json,
    response_body text,
    remote_ip inet,
    worker text,
    constraint webhook_delivery_attempts_cause_check CHECK ((cause = ANY (ARRAY['auto'::text, 'manual'::text, 'test'::text]))),
    constraint webhook_delivery_attempts_outcome_check CHECK ((outcome = ANY (ARRAY['success'::text, 'http_error'::text, 'timeout'::text, 'connect_error'::text, 'tls_error'::text, 'dns_error'::text, 'blocked'::text, 'lost'::text]))),
    constraint webhook_delivery_attempts_pkey PRIMARY KEY (delivery_id, id),
    constraint webhook_delivery_attempts_response_body_check CHECK ((octet_length(response_body) <= 16384))
) with (autovacuum_vacuum_insert_scale_factor=0.05);
CREATE INDEX webhook_delivery_attempts_failed ON svc.webhook_delivery_attempts USING btree (endpoint_id, started_at) WHERE (outcome <> ALL (ARRAY['success'::text, 'lost'::text]));

create table svc.webhook_endpoint_state (
    endpoint_id uuid not null,
    failure_streak integer default 0 not null,
    failing_since timestamp with time zone,
    breaker_until timestamp with time zone,
    breaker_count integer default 0 not null,
    last_success_at timestamp with time zone,
    last_failure_at timestamp with time zone,
    open_since timestamp with time zone,
    outage_since timestamp with time zone,
    outage_told_at timestamp with time zone,
    untold_exhausted integer default 0 not null,
    exhausted_told_at timestamp with time zone,
    last_failure text,
    throttled_until timestamp with time zone,
    throttled_since timestamp with time zone,
    first_failure_at timestamp with time zone,
    recovered_at timestamp with time zone,
    breaker_opened_at timestamp with time zone[] default '{}'::timestamp with time zone[] not null,
    breaker_opened_until timestamp with time zone[] default '{}'::timestamp with time zone[] not null,
    constraint webhook_endpoint_state_breaker_count_check CHECK ((breaker_count >= 0)),
    constraint webhook_endpoint_state_check CHECK (((failure_streak > 0) = (failing_since IS NOT NULL))),
    constraint webhook_endpoint_state_check1 CHECK ((cardinality(breaker_opened_at) = cardinality(breaker_opened_until))),
    constraint webhook_endpoint_state_endpoint_id_fkey FOREIGN KEY (endpoint_id) REFERENCES svc.webhook_endpoints(id) ON DELETE CASCADE,
    constraint webhook_endpoint_state_failure_streak_check CHECK ((failure_streak >= 0)),
    constraint webhook_endpoint_state_pkey PRIMARY KEY (endpoint_id),
    constraint webhook_endpoint_state_untold_exhausted_check CHECK ((untold_exhausted >= 0))
) with (fillfactor=50, autovacuum_vacuum_threshold=500, autovacuum_vacuum_scale_factor=0.02);
CREATE INDEX webhook_endpoint_state_breaker ON svc.webhook_endpoint_state USING btree (breaker_until) WHERE (breaker_until IS NOT NULL);
CREATE INDEX webhook_endpoint_state_throttled ON svc.webhook_endpoint_state USING btree (throttled_until) WHERE (throttled_until IS NOT NULL);

create table svc.webhook_endpoints (
    id uuid not null,
    url text not null,
    url_by text default 'operator'::text not null,
    description text default ''::text not null,
    tenant text,
    events text[] not null,
    filter text,
    ordering text default 'none'::text not null,
    signatures text[] default '{v1}'::text[] not null,
    secret bytea not null,
    previous_secret bytea,
    previous_secret_expires_at timestamp with time zone,
    signing_key bytea,
    previous_signing_key bytea,
    public_key text,
    headers bytea,
    tls bytea,
    client_certificate_expires_at timestamp with time zone,
    status text default 'active'::text not null,
    disabled_reason text,
    max_in_flight integer default 8 not null,
    rate_per_second integer,
    timeout interval default '00:00:15'::interval not null,
    version integer default 1 not null,
    created_at timestamp with time zone default now() not null,
    updated_at timestamp with time zone default now() not null,
    constraint webhook_endpoints_check CHECK (((previous_secret IS NULL) = (previous_secret_expires_at IS NULL))),
    constraint webhook_endpoints_check1 CHECK (((previous_signing_key IS NULL) OR (previous_secret_expires_at IS NOT NULL))),
    constraint webhook_endpoints_check2 CHECK ((('v1a'::text = ANY (signatures)) = (signing_key IS NOT NULL))),
    constraint webhook_endpoints_check3 CHECK (((signing_key IS NULL) = (public_key IS NULL))),
    constraint webhook_endpoints_check4 CHECK (((client_certificate_expires_at IS NULL) OR (tls IS NOT NULL))),
    constraint webhook_endpoints_check5 CHECK (((status = 'disabled'::text) = (disabled_reason IS NOT NULL))),
    constraint webhook_endpoints_events_check CHECK (((cardinality(events) > 0) AND (array_position(events, NULL::text) IS NULL))),
    constraint webhook_endpoints_filter_check CHECK (((filter IS NULL) OR ((char_length(filter) <= 1000) AND ((filter)::jsonpath IS NOT NULL)))),
    constraint webhook_endpoints_max_in_flight_check CHECK (((max_in_flight >= 1) AND (max_in_flight <= 1000))),
    constraint webhook_endpoints_ordering_check CHECK ((ordering = ANY (ARRAY['none'::text, 'key'::text, 'strict'::text]))),
    constraint webhook_endpoints_pkey PRIMARY KEY (id),
    constraint webhook_endpoints_rate_per_second_check CHECK (((rate_per_second >= 1) AND (rate_per_second <= 10000))),
    constraint webhook_endpoints_signatures_check CHECK (((cardinality(signatures) > 0) AND (signatures <@ '{v1,v1a}'::text[]) AND (array_position(signatures, NULL::text) IS NULL))),
    constraint webhook_endpoints_status_check CHECK ((status = ANY (ARRAY['active'::text, 'paused'::text, 'disabled'::text]))),
    constraint webhook_endpoints_timeout_check CHECK (((timeout >= '00:00:01'::interval) AND (timeout <= '00:01:00'::interval))),
    constraint webhook_endpoints_url_by_check CHECK ((url_by = ANY (ARRAY['operator'::text, 'customer'::text])))
);
CREATE INDEX webhook_endpoints_events ON svc.webhook_endpoints USING gin (events) WITH (fastupdate=off) WHERE (status <> 'disabled'::text);
CREATE INDEX webhook_endpoints_filtered ON svc.webhook_endpoints USING btree (id) WHERE (filter IS NOT NULL);
CREATE INDEX webhook_endpoints_tenant ON svc.webhook_endpoints USING btree (tenant, id) WHERE (tenant IS NOT NULL);
CREATE TRIGGER "00_svc_audit_truncate" AFTER TRUNCATE ON svc.webhook_endpoints FOR EACH STATEMENT EXECUTE FUNCTION svc.capture_svc_webhook_endpoints();
CREATE TRIGGER "00_svc_audit_update" AFTER UPDATE ON svc.webhook_endpoints FOR EACH ROW WHEN ((old.* *<> new.*)) EXECUTE FUNCTION svc.capture_svc_webhook_endpoints();
CREATE TRIGGER "00_svc_audit_write" AFTER INSERT OR DELETE ON svc.webhook_endpoints FOR EACH ROW EXECUTE FUNCTION svc.capture_svc_webhook_endpoints();

create table svc.webhook_event_types (
    name text not null,
    description text not null,
    schema json,
    patterns text[] not null,
    synced_at timestamp with time zone default now() not null,
    search text[],
    searched_since timestamp with time zone[],
    search_changed_in bigint,
    search_filled_to uuid,
    constraint webhook_event_types_pkey PRIMARY KEY (name)
);

create table svc.webhook_freed (
    id bigint generated always as identity not null,
    endpoint_id uuid not null,
    key_id bigint,
    constraint webhook_freed_pkey PRIMARY KEY (id)
) with (autovacuum_vacuum_threshold=1000, autovacuum_vacuum_scale_factor=0.02, autovacuum_vacuum_cost_delay=0);

create table svc.webhook_keys (
    tenant text not null,
    key text not null,
    sequence bigint not null,
    id bigint generated always as identity not null,
    constraint webhook_keys_key_check CHECK (((octet_length(key) >= 1) AND (octet_length(key) <= 255))),
    constraint webhook_keys_pkey PRIMARY KEY (tenant, key),
    constraint webhook_keys_sequence_check CHECK ((sequence >= 0))
) with (fillfactor=80, autovacuum_vacuum_threshold=500, autovacuum_vacuum_scale_factor=0.02);

create table svc.webhook_leases (
    endpoint_id uuid not null,
    delivery_id uuid not null,
    lease_id uuid default gen_random_uuid() not null,
    lease_until timestamp with time zone not null,
    leased_at timestamp with time zone not null,
    worker text not null,
    key_id bigint,
    sequence bigint,
    constraint webhook_leases_check CHECK (((key_id IS NULL) = (sequence IS NULL))),
    constraint webhook_leases_pkey PRIMARY KEY (endpoint_id, delivery_id)
) with (autovacuum_vacuum_threshold=1000, autovacuum_vacuum_scale_factor=0.02, autovacuum_vacuum_cost_delay=0);
CREATE UNIQUE INDEX webhook_leases_key ON svc.webhook_leases USING btree (endpoint_id, key_id) WHERE (key_id IS NOT NULL);
CREATE INDEX webhook_leases_until ON svc.webhook_leases USING btree (lease_until);

create table svc.webhook_messages (
    id uuid not null,
    event_name text not null,
    payload json not null,
    tenant text,
    idempotency_key text,
    key text,
    sequence bigint,
    trace_context text,
    created_at timestamp with time zone default now() not null,
    copy_of uuid,
    xact_id bigint default txid_current() not null,
    constraint webhook_messages_pkey PRIMARY KEY (id)
);
CREATE INDEX webhook_messages_event ON svc.webhook_messages USING btree (event_name, id);
CREATE UNIQUE INDEX webhook_messages_idempotency ON svc.webhook_messages USING btree (COALESCE(tenant, ''::text), idempotency_key) WHERE (idempotency_key IS NOT NULL);
CREATE INDEX webhook_messages_tenant ON svc.webhook_messages USING btree (tenant, id) WHERE (tenant IS NOT NULL);
CREATE INDEX webhook_messages_xact ON svc.webhook_messages USING btree (xact_id);
CREATE TRIGGER messages_searched_delete AFTER DELETE ON svc.webhook_messages REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION svc.webhook_follow_messages();
CREATE TRIGGER messages_searched_truncate AFTER TRUNCATE ON svc.webhook_messages FOR EACH STATEMENT EXECUTE FUNCTION svc.webhook_follow_messages();
CREATE TRIGGER messages_searched_update AFTER UPDATE OF id, event_name, payload, tenant ON svc.webhook_messages FOR EACH ROW EXECUTE FUNCTION svc.webhook_follow_messages();

create table svc.webhook_parked_endpoints (
    endpoint_id uuid not null,
    parked_until timestamp with time zone not null,
    constraint webhook_parked_endpoints_pkey PRIMARY KEY (endpoint_id)
) with (fillfactor=50, autovacuum_vacuum_threshold=500, autovacuum_vacuum_scale_factor=0.02);
CREATE INDEX webhook_parked_endpoints_until ON svc.webhook_parked_endpoints USING btree (parked_until);

create table svc.webhook_queue (
    lane svc.webhook_lane default 'due'::svc.webhook_lane not null,
    endpoint_id uuid not null,
    next_attempt_at timestamp with time zone not null,
    delivery_id uuid not null,
    key_id bigint,
    sequence bigint,
    constraint webhook_queue_check CHECK (((key_id IS NULL) = (sequence IS NULL))),
    constraint webhook_queue_pkey PRIMARY KEY (lane, endpoint_id, next_attempt_at, delivery_id)
) with (autovacuum_vacuum_threshold=1000, autovacuum_vacuum_scale_factor=0.02, autovacuum_vacuum_cost_delay=0);
CREATE INDEX webhook_queue_key ON svc.webhook_queue USING btree (endpoint_id, key_id, sequence, delivery_id) WHERE (key_id IS NOT NULL);
CREATE INDEX webhook_queue_later ON svc.webhook_queue USING btree (next_attempt_at) WHERE (lane = 'later'::svc.webhook_lane);

create table svc.webhook_rates (
    endpoint_id uuid not null,
    full_until timestamp with time zone,
    spent_until timestamp with time zone not null,
    constraint webhook_rates_pkey PRIMARY KEY (endpoint_id)
) with (fillfactor=50, autovacuum_vacuum_threshold=500, autovacuum_vacuum_scale_factor=0.02);
CREATE INDEX webhook_rates_full ON svc.webhook_rates USING btree (full_until) WHERE (full_until IS NOT NULL);

create table svc.webhook_search_values (
    message_id uuid not null,
    digest bytea not null,
    tenant text,
    constraint webhook_search_values_pkey PRIMARY KEY (message_id, digest)
);
CREATE INDEX webhook_search_values_newest ON svc.webhook_search_values USING btree (digest, message_id);
CREATE INDEX webhook_search_values_tenant ON svc.webhook_search_values USING btree (tenant, digest, message_id) WHERE (tenant IS NOT NULL);

-- Views

create view svc.audit_activity_daily (
    day date,
    table_name text,
    operation text,
    actor_id text,
    tenant_id text,
    entries bigint
) as ...;

create view svc.audit_changes (
    entry_id bigint,
    "timestamp" timestamp with time zone,
    actor_id text,
    tenant_id text,
    table_name text,
    operation text,
    record_id text,
    field text,
    before jsonb,
    after jsonb
) as ...;

create view svc.audit_log_export (
    id text,
    "timestamp" text,
    "tableName" text,
    operation text,
    "recordId" text,
    "actorId" text,
    "tenantId" text,
    "dbUser" text,
    "dbRole" text,
    "beforeData" jsonb,
    "afterData" jsonb,
    "changedFields" text[],
    label text,
    severity text,
    compliance text[],
    description text,
    "redactedFields" text[],
    context jsonb,
    "xactId" text,
    partition text,
    entry_id bigint,
    recorded_at timestamp with time zone
) as ...;

create view svc.audit_seal_lock (
    is_row boolean
) as ...;

create view svc.record_svc_audit_holds (
    table_name text,
    table_oid oid,
    operation svc.audit_operation,
    record_id text,
    moved_from text,
    actor_id text,
    tenant_id text,
    db_role text,
    before_data jsonb,
    after_data jsonb,
    changed_fields text[],
    redacted_fields text[],
    context jsonb,
    label text,
    severity svc.audit_severity,
    compliance text[],
    description text,
    partition text
) with (check_option=cascaded) as ...;

create view svc.record_svc_console_sessions (
    table_name text,
    table_oid oid,
    operation svc.audit_operation,
    record_id text,
    moved_from text,
    actor_id text,
    tenant_id text,
    db_role text,
    before_data jsonb,
    after_data jsonb,
    changed_fields text[],
    redacted_fields text[],
    context jsonb,
    label text,
    severity svc.audit_severity,
    compliance text[],
    description text,
    partition text
) with (check_option=cascaded) as ...;

create view svc.record_svc_console_tokens (
    table_name text,
    table_oid oid,
    operation svc.audit_operation,
    record_id text,
    moved_from text,
    actor_id text,
    tenant_id text,
    db_role text,
    before_data jsonb,
    after_data jsonb,
    changed_fields text[],
    redacted_fields text[],
    context jsonb,
    label text,
    severity svc.audit_severity,
    compliance text[],
    description text,
    partition text
) with (check_option=cascaded) as ...;

create view svc.record_svc_tenants (
    table_name text,
    table_oid oid,
    operation svc.audit_operation,
    record_id text,
    moved_from text,
    actor_id text,
    tenant_id text,
    db_role text,
    before_data jsonb,
    after_data jsonb,
    changed_fields text[],
    redacted_fields text[],
    context jsonb,
    label text,
    severity svc.audit_severity,
    compliance text[],
    description text,
    partition text
) with (check_option=cascaded) as ...;

create view svc.record_svc_webhook_endpoints (
    table_name text,
    table_oid oid,
    operation svc.audit_operation,
    record_id text,
    moved_from text,
    actor_id text,
    tenant_id text,
    db_role text,
    before_data jsonb,
    after_data jsonb,
    changed_fields text[],
    redacted_fields text[],
    context jsonb,
    label text,
    severity svc.audit_severity,
    compliance text[],
    description text,
    partition text
) with (check_option=cascaded) as ...;

create view svc.webhook_claim_lock (
    is_row boolean
) as ...;

create view svc.webhook_delivery_export (
    id uuid,
    "messageId" uuid,
    "endpointId" uuid,
    "eventName" text,
    status text,
    attempts integer,
    "maxAttempts" integer,
    "createdAt" text,
    "updatedAt" text,
    "nextAttemptAt" text,
    "finishedAt" text,
    "lastStatusCode" integer,
    "lastError" text,
    failure text
) as ...;

create view svc.webhook_endpoint_health (
    endpoint_id uuid,
    url text,
    description text,
    tenant text,
    status text,
    disabled_reason text,
    health text,
    failure_streak integer,
    failing_since timestamp with time zone,
    breaker_until timestamp with time zone,
    last_success_at timestamp with time zone,
    last_failure_at timestamp with time zone,
    next_attempt_at timestamp with time zone,
    in_flight bigint,
    max_in_flight integer,
    client_certificate_expires_at timestamp with time zone,
    needs_attention boolean,
    last_failure text,
    throttled_until timestamp with time zone
) as ...;

-- Functions

create function svc.audit_about_no_record(p_table text, p_most integer)
    returns SETOF svc.audit_logs language plpgsql stable
    set search_path=pg_catalog, pg_temp
    set enable_seqscan=off
    set enable_bitmapscan=off
    set enable_sort=off
    set enable_incremental_sort=off
    set jit=off
    set plan_cache_mode=force_generic_plan;

create function svc.audit_add_ddl(p_table text, p_relation oid, p_partition text, p_tag text, p_before jsonb, p_after jsonb, p_note text)
    returns void language plpgsql
    set search_path=pg_catalog, pg_temp;

create function svc.audit_add_entry(table_name text, operation text, record_id text DEFAULT NULL::text, before_data jsonb DEFAULT NULL::jsonb, after_data jsonb DEFAULT NULL::jsonb, label text DEFAULT NULL::text, severity text DEFAULT NULL::text, compliance text[] DEFAULT NULL::text[], description text DEFAULT NULL::text, id bigint DEFAULT NULL::bigint)
    returns svc.audit_logs language plpgsql
    set search_path=pg_catalog, pg_temp;

create function svc.audit_add_reads(p_reads jsonb, p_actor text, p_tenant text, p_context text)
    returns integer language plpgsql security definer
    set search_path=pg_catalog, pg_temp
    set plan_cache_mode=force_generic_plan;

create function svc.audit_add_reconciliation(p_table text, p_facts jsonb, p_description text, p_has_differences boolean)
    returns bigint language plpgsql security definer
    set search_path=pg_catalog, pg_temp;

create function svc.audit_add_removal(p_removal bigint, p_operation text, p_label text, p_severity text, p_facts jsonb, p_description text, p_has_sealed boolean)
    returns void language plpgsql
    set search_path=pg_catalog, pg_temp;

create function svc.audit_add_seal(p_number bigint, p_epoch text, p_epoch_began_at timestamp with time zone, p_epoch_ended_at timestamp with time zone, p_from_xact_id bigint, p_until_xact_id bigint, p_after_id bigint, p_until_id bigint, p_entries integer, p_erased integer, p_root bytea, p_previous bytea, p_sealed_at timestamp with time zone, p_key_id text, p_signature bytea, p_leaves bytea)
    returns boolean language plpgsql security definer
    set search_path=pg_catalog, pg_temp;

create function svc.audit_add_seal_timestamp(p_seal bigint, p_answer bytea)
    returns boolean language plpgsql security definer
    set search_path=pg_catalog, pg_temp;

create function svc.audit_add_silence(p_table text, p_facts jsonb, p_description text, p_is_over boolean)
    returns void language plpgsql security definer
    set search_path=pg_catalog, pg_temp;

create function svc.audit_add_verification(p_first_seal bigint, p_last_seal bigint, p_entries bigint, p_unsealed bigint, p_findings integer, p_is_complete boolean, p_has_copies boolean, p_keys text[], p_timestamps bigint, p_unverified_timestamps bigint)
    returns void language plpgsql security definer
    set search_path=pg_catalog, pg_temp;

create function svc.audit_adopt(p_trigger oid)
    returns boolean language plpgsql
    set search_path=pg_catalog, pg_temp
    set enable_seqscan=off
    set enable_hashjoin=off
    set enable_mergejoin=off
    set jit=off;

create function svc.audit_anonymous_key(p_key text)
    returns text language sql immutable parallel safe;

create function svc.audit_as_of_place(p_table text, p_record text, p_time timestamp with time zone)
    returns TABLE(record_id text, "timestamp" timestamp with time zone, id bigint, is_after boolean, is_shared boolean) language plpgsql stable
    set search_path=pg_catalog, pg_temp
    set enable_seqscan=off
    set enable_bitmapscan=off
    set enable_sort=off
    set enable_incremental_sort=off
    set jit=off
    set plan_cache_mode=force_generic_plan;

create function svc.audit_as_of_record(p_table text, p_record text, p_time timestamp with time zone)
    returns TABLE(record_id text, valid_from timestamp with time zone, operation text, actor_id text, tenant_id text, db_user text, entry_id bigint, xact_id bigint, redacted_fields text[], image jsonb) language plpgsql stable
    set search_path=pg_catalog, pg_temp
    set enable_seqscan=off
    set enable_bitmapscan=off
    set enable_sort=off
    set enable_incremental_sort=off
    set jit=off
    set plan_cache_mode=force_generic_plan;

create function svc.audit_as_of_rows(p_table text, p_time timestamp with time zone, p_after text DEFAULT NULL::text, p_before text DEFAULT NULL::text, p_limit integer DEFAULT NULL::integer, p_most integer DEFAULT NULL::integer)
    returns TABLE(record_id text, valid_from timestamp with time zone, operation text, actor_id text, tenant_id text, db_user text, entry_id bigint, xact_id bigint, redacted_fields text[], image jsonb, is_there boolean) language plpgsql stable
    set search_path=pg_catalog, pg_temp
    set enable_seqscan=off
    set enable_bitmapscan=off
    set enable_sort=off
    set enable_incremental_sort=off
    set jit=off
    set plan_cache_mode=force_generic_plan;

create function svc.audit_begin_epoch()
    returns void language plpgsql security definer
    set search_path=pg_catalog, pg_temp;

create function svc.audit_blame(p_table text, p_record text, p_most integer, p_newest timestamp with time zone DEFAULT NULL::timestamp with time zone, p_newest_id bigint DEFAULT NULL::bigint, p_record_then text DEFAULT NULL::text, p_until timestamp with time zone DEFAULT NULL::timestamp with time zone, p_until_id bigint DEFAULT NULL::bigint, p_left jsonb DEFAULT NULL::jsonb)
    returns TABLE(field text, value jsonb, is_redacted boolean, entry_id bigint, changed_at timestamp with time zone, operation text, actor_id text, db_user text, xact_id bigint, known_since timestamp with time zone, unchanged_since timestamp with time zone, place_id bigint, record_then text, newest timestamp with time zone, newest_id bigint) language plpgsql stable
    set search_path=pg_catalog, pg_temp
    set enable_seqscan=off
    set enable_bitmapscan=off
    set enable_sort=off
    set enable_incremental_sort=off
    set jit=off
    set plan_cache_mode=force_generic_plan;

create function svc.audit_blame_before(p_table text, p_record text, p_timestamp timestamp with time zone, p_id bigint, p_fields text[], p_present text[], p_most integer, OUT from_timestamp timestamp with time zone, OUT to_timestamp timestamp with time zone, OUT until_timestamp timestamp with time zone, OUT until_id bigint, OUT looked_at bigint)
    returns record language plpgsql stable
    set search_path=pg_catalog, pg_temp
    set enable_seqscan=off
    set enable_bitmapscan=off
    set enable_sort=off
    set enable_incremental_sort=off
    set jit=off
    set plan_cache_mode=force_generic_plan;

create function svc.audit_bounded(p_id text)
    returns text language sql immutable parallel safe
    set search_path=pg_catalog, pg_temp;

create function svc.audit_bounded_tenant(p_id text)
    returns text language sql immutable parallel safe
    set search_path=pg_catalog, pg_temp;

create function svc.audit_cap(p_snapshot jsonb, p_limit integer)
    returns jsonb language plpgsql immutable parallel safe;

create function svc.audit_capture_new()
    returns trigger language plpgsql security definer
    set search_path=pg_catalog, pg_temp
    set TimeZone=UTC
    set extra_float_digits=1
    set DateStyle=ISO, YMD
    set IntervalStyle=iso_8601
    set bytea_output=hex
    set lc_monetary=C;

create function svc.audit_change_extent(p_xact_id bigint, p_entry_id bigint, OUT first timestamp with time zone, OUT last timestamp with time zone, OUT xact_id bigint, OUT entries bigint, OUT tables text[], OUT epochs bigint)
    returns record language plpgsql stable
    set search_path=pg_catalog, pg_temp
    set enable_seqscan=off
    set enable_indexscan=off
    set enable_indexonlyscan=off
    set seq_page_cost=0
    set random_page_cost=0
    set cpu_tuple_cost=0
    set cpu_operator_cost=0
    set cpu_index_tuple_cost=1000000
    set plan_cache_mode=force_custom_plan
    set jit=off;

create function svc.audit_changed(p_before jsonb, p_after jsonb)
    returns text[] language sql immutable parallel safe
    set search_path=pg_catalog, pg_temp;

create function svc.audit_changed_redactions(p_known jsonb, p_known_redacted text[], p_row jsonb, p_row_redacted text[])
    returns text[] language sql immutable parallel safe
    set search_path=pg_catalog, pg_temp;

create function svc.audit_columns(p_table oid)
    returns TABLE(name text, type text, is_list boolean, is_domain boolean) language sql stable
    set search_path=pg_catalog, pg_temp;

create function svc.audit_content(l svc.audit_logs)
    returns text language sql stable parallel safe;

create function svc.audit_count_stretch(p_from_xact_id bigint, p_until_xact_id bigint, p_after_id bigint, p_until_id bigint, p_began_at timestamp with time zone, p_ended_at timestamp with time zone, OUT entries bigint, OUT erased bigint)
    returns record language plpgsql stable
    set search_path=pg_catalog, pg_temp
    set enable_seqscan=off
    set enable_indexscan=off
    set enable_indexonlyscan=off
    set seq_page_cost=0
    set random_page_cost=0
    set cpu_tuple_cost=0
    set cpu_operator_cost=0
    set cpu_index_tuple_cost=1000000
    set plan_cache_mode=force_custom_plan
    set jit=off;

create function svc.audit_differing(p_known jsonb, p_known_redacted text[], p_row jsonb, p_row_redacted text[], p_ignored text[])
    returns text[] language sql immutable parallel safe
    set search_path=pg_catalog, pg_temp;

create function svc.audit_drifted(p_table text)
    returns jsonb language plpgsql stable parallel safe
    set search_path=pg_catalog, pg_temp;

create function svc.audit_ensure_partitions(p_months integer DEFAULT 3, p_attaches boolean DEFAULT false)
    returns text[] language plpgsql security definer
    set search_path=pg_catalog, pg_temp
    set TimeZone=UTC
    set lock_timeout=2s
    set jit=off;

create function svc.audit_entries_naming(p_members jsonb[], p_most integer)
    returns SETOF svc.audit_logs language plpgsql stable
    set search_path=pg_catalog, pg_temp
    set enable_seqscan=off
    set enable_indexscan=off
    set enable_indexonlyscan=off
    set enable_bitmapscan=on
    set jit=off;

create function svc.audit_entries_of(p_table text, p_record text, p_most integer)
    returns SETOF svc.audit_logs language plpgsql stable
    set search_path=pg_catalog, pg_temp
    set enable_seqscan=off
    set enable_bitmapscan=off
    set enable_sort=off
    set enable_incremental_sort=off
    set jit=off
    set plan_cache_mode=force_generic_plan;

create function svc.audit_entry_time(p_id bigint)
    returns timestamp with time zone language plpgsql stable
    set search_path=pg_catalog, pg_temp
    set enable_seqscan=off
    set enable_indexscan=off
    set enable_indexonlyscan=off
    set cpu_index_tuple_cost=1e10
    set jit=off
    set plan_cache_mode=force_generic_plan;

create function svc.audit_erasable(p_table text, p_record text)
    returns TABLE(table_name text, record_id text, moved_from text, entry_id bigint, entry_timestamp timestamp with time zone, is_erased boolean, known_as text) language plpgsql stable
    set search_path=pg_catalog, pg_temp
    set enable_hashjoin=off
    set enable_mergejoin=off
    set jit=off;

create function svc.audit_erased_key(p_key text)
    returns text language plpgsql stable
    set search_path=pg_catalog, pg_temp;

create function svc.audit_erasure()
    returns TABLE(of_table text, table_name text, columns text[]) language sql immutable
    set search_path=pg_catalog, pg_temp;

create function svc.audit_events(p_table text, p_record text)
    returns TABLE(id bigint, "timestamp" timestamp with time zone, xact_id bigint, before_data jsonb, after_data jsonb) language sql stable;

create function svc.audit_first_of_table(p_table text)
    returns timestamp with time zone language plpgsql stable
    set search_path=pg_catalog, pg_temp
    set enable_seqscan=off
    set enable_bitmapscan=off
    set enable_sort=off
    set enable_incremental_sort=off
    set jit=off
    set plan_cache_mode=force_generic_plan;

create function svc.audit_first_part(l svc.audit_logs)
    returns text language sql stable parallel safe;

create function svc.audit_follow_holds(p_hold bigint DEFAULT NULL::bigint)
    returns void language plpgsql security definer
    set search_path=pg_catalog, pg_temp;

create function svc.audit_follow_purges()
    returns text[] language plpgsql security definer
    set search_path=pg_catalog, pg_temp
    set lock_timeout=300ms;

create function svc.audit_guard()
    returns trigger language plpgsql
    set search_path=pg_catalog, pg_temp;

create function svc.audit_guard_holds()
    returns trigger language plpgsql
    set search_path=pg_catalog, pg_temp;

create function svc.audit_hash(p_value text)
    returns text language plpgsql stable security definer
    set search_path=pg_catalog, pg_temp;

create function svc.audit_history(p_table text, p_record text, p_from timestamp with time zone DEFAULT NULL::timestamp with time zone, p_to timestamp with time zone DEFAULT NULL::timestamp with time zone)
    returns TABLE(entry_id bigint, entry_timestamp timestamp with time zone, place_id bigint, place_timestamp timestamp with time zone, is_chained boolean) language plpgsql stable
    set search_path=pg_catalog, pg_temp
    set enable_seqscan=off
    set enable_bitmapscan=off
    set enable_sort=off
    set enable_incremental_sort=off
    set jit=off
    set plan_cache_mode=force_generic_plan;

create function svc.audit_horizon(p_after text DEFAULT NULL::text, OUT epoch text, OUT began_at timestamp with time zone, OUT oldest_running bigint, OUT first_unassigned bigint, OUT after_xact_id bigint, OUT after_from timestamp with time zone, OUT after_until timestamp with time zone)
    returns record language plpgsql stable security definer
    set search_path=pg_catalog, pg_temp;

create function svc.audit_image(p_row record, p_table oid, p_is_plain boolean DEFAULT false)
    returns jsonb language plpgsql stable
    set search_path=pg_catalog, pg_temp
    set TimeZone=UTC
    set extra_float_digits=1
    set DateStyle=ISO, YMD
    set IntervalStyle=iso_8601
    set bytea_output=hex
    set lc_monetary=C;

create function svc.audit_installed_rules(p_known bigint)
    returns TABLE(revision bigint, tables json) language sql stable security definer
    set search_path=pg_catalog, pg_temp;

create function svc.audit_is_change_of_now(p_relation oid, p_columns jsonb, p_part text)
    returns boolean language sql stable
    set search_path=pg_catalog, pg_temp;

create function svc.audit_is_continuous(p_table text, p_record text, p_timestamp timestamp with time zone, p_id bigint, p_before jsonb)
    returns boolean language plpgsql stable
    set search_path=pg_catalog, pg_temp;

create function svc.audit_is_copy()
    returns boolean language sql stable
    set search_path=pg_catalog, pg_temp;

create function svc.audit_is_found(p_operation text, p_id bigint)
    returns boolean language plpgsql stable
    set search_path=pg_catalog, pg_temp;

create function svc.audit_is_installing()
    returns boolean language sql stable
    set search_path=pg_catalog, pg_temp;

create function svc.audit_is_mixed()
    returns boolean language plpgsql stable security definer
    set search_path=pg_catalog, pg_temp
    set enable_seqscan=off
    set enable_indexscan=off
    set enable_indexonlyscan=off
    set cpu_index_tuple_cost=1e10
    set jit=off
    set plan_cache_mode=force_generic_plan;

create function svc.audit_is_rare(p_table text, p_record text, p_most integer)
    returns boolean language sql stable
    set search_path=pg_catalog, pg_temp;

create function svc.audit_is_wanted(p_name text)
    returns boolean language sql immutable
    set search_path=pg_catalog, pg_temp;

create function svc.audit_keep_shape(p_relation oid, p_table text, p_root oid)
    returns void language plpgsql
    set search_path=pg_catalog, pg_temp;

create function svc.audit_key_of(p_image jsonb, p_columns text[])
    returns text language sql immutable parallel safe
    set search_path=pg_catalog, pg_temp;

create function svc.audit_keyless_holds(p_table text, p_before jsonb, p_after jsonb)
    returns SETOF bigint language sql stable
    set search_path=pg_catalog, pg_temp;

create function svc.audit_keys(p_snapshot jsonb)
    returns text[] language sql immutable parallel safe
    set search_path=pg_catalog, pg_temp;

create function svc.audit_lacks_capture(p_relation oid, p_root oid)
    returns text language sql stable
    set search_path=pg_catalog, pg_temp;

create function svc.audit_last4(p_value text)
    returns text language sql immutable parallel safe;

create function svc.audit_last_known(p_table text, p_record text, OUT state jsonb, OUT redacted_fields text[], OUT leaf oid, OUT partition text)
    returns record language plpgsql stable
    set search_path=pg_catalog, pg_temp
    set enable_seqscan=off
    set enable_bitmapscan=off
    set enable_sort=off
    set enable_incremental_sort=off
    set jit=off
    set plan_cache_mode=force_generic_plan;

create function svc.audit_last_seal()
    returns SETOF svc.audit_seals language sql stable
    set search_path=pg_catalog, pg_temp;

create function svc.audit_last_truncate(p_table text, p_time timestamp with time zone, OUT truncated_at timestamp with time zone, OUT incomplete_since timestamp with time zone)
    returns record language plpgsql stable
    set search_path=pg_catalog, pg_temp
    set enable_seqscan=off
    set enable_bitmapscan=off
    set enable_sort=off
    set enable_incremental_sort=off
    set jit=off
    set plan_cache_mode=force_generic_plan;

create function svc.audit_leaf(l svc.audit_logs)
    returns bytea language sql stable parallel safe;

create function svc.audit_mask_all(p_snapshot jsonb)
    returns jsonb language sql immutable parallel safe
    set search_path=pg_catalog, pg_temp;

create function svc.audit_names_of(p_table text)
    returns TABLE(name text, oids oid[], others oid[], since timestamp with time zone, until timestamp with time zone) language plpgsql stable
    set search_path=pg_catalog, pg_temp;

create function svc.audit_near(p_table text, p_record text, p_timestamp timestamp with time zone, p_id bigint, p_is_before boolean, p_limit integer, p_tenant text, OUT first timestamp with time zone, OUT last timestamp with time zone)
    returns record language plpgsql stable
    set search_path=pg_catalog, pg_temp
    set enable_seqscan=off
    set enable_bitmapscan=off
    set enable_sort=off
    set enable_incremental_sort=off
    set jit=off
    set plan_cache_mode=force_generic_plan;

create function svc.audit_net_changes(p_xact_id bigint, p_entry_id bigint DEFAULT NULL::bigint, p_leave text[] DEFAULT '{}'::text[])
    returns TABLE(table_name text, record_id text, before_data jsonb, after_data jsonb, changed_fields text[], redacted_fields text[], moved_from text, moved_to text, is_in_order boolean, is_of_another_table boolean, later_entry bigint, later_operation text, later_fields text[]) language plpgsql stable
    set search_path=pg_catalog, pg_temp;

create function svc.audit_new_epoch()
    returns jsonb language sql immutable
    set search_path=pg_catalog, pg_temp;

create function svc.audit_new_image(p_row jsonb, p_rules jsonb, p_known jsonb, p_key text[], p_table text, OUT image jsonb, OUT redacted text[])
    returns record language plpgsql stable
    set search_path=pg_catalog, pg_temp;

create function svc.audit_new_rules(p_name text)
    returns jsonb language plpgsql immutable
    set search_path=pg_catalog, pg_temp;

create function svc.audit_new_triggers(p_relation oid)
    returns text language sql stable security definer
    set search_path=pg_catalog, pg_temp;

create function svc.audit_next_event(p_table text, p_record text, p_timestamp timestamp with time zone, p_id bigint, p_other_than bigint DEFAULT NULL::bigint, OUT "timestamp" timestamp with time zone, OUT id bigint, OUT xact_id bigint)
    returns record language plpgsql stable
    set search_path=pg_catalog, pg_temp
    set enable_seqscan=off
    set enable_bitmapscan=off
    set enable_sort=off
    set enable_incremental_sort=off
    set jit=off
    set plan_cache_mode=force_generic_plan;

create function svc.audit_note_names()
    returns void language sql security definer
    set search_path=pg_catalog, pg_temp;

create function svc.audit_note_shapes()
    returns void language plpgsql security definer
    set search_path=pg_catalog, pg_temp;

create function svc.audit_on_ddl()
    returns event_trigger language plpgsql security definer
    set search_path=pg_catalog, pg_temp
    set lock_timeout=200ms;

create function svc.audit_on_drop()
    returns event_trigger language plpgsql security definer
    set search_path=pg_catalog, pg_temp
    set lock_timeout=200ms;

create function svc.audit_on_new()
    returns event_trigger language plpgsql
    set search_path=pg_catalog, pg_temp
    set lock_timeout=200ms
    set enable_seqscan=off
    set enable_hashjoin=off
    set enable_mergejoin=off
    set jit=off;

create function svc.audit_order(p_table text, p_record text, p_ids bigint[], p_timestamps timestamp with time zone[], p_transaction bigint)
    returns integer[] language plpgsql stable
    set search_path=pg_catalog, pg_temp
    set enable_seqscan=off
    set enable_bitmapscan=off
    set enable_sort=off
    set enable_incremental_sort=off
    set jit=off
    set plan_cache_mode=force_generic_plan;

create function svc.audit_other_names(p_table text)
    returns text[] language sql stable
    set search_path=pg_catalog, pg_temp;

create function svc.audit_parsed_time(p_text text)
    returns timestamp with time zone language plpgsql stable
    set search_path=pg_catalog, pg_temp;

create function svc.audit_partition_end(p_partition oid)
    returns timestamp with time zone language sql stable
    set search_path=pg_catalog, pg_temp
    set TimeZone=UTC
    set DateStyle=ISO, YMD;

create function svc.audit_partition_start(p_partition oid)
    returns timestamp with time zone language sql stable
    set search_path=pg_catalog, pg_temp
    set TimeZone=UTC
    set DateStyle=ISO, YMD;

create function svc.audit_partition_tree(p_root oid)
    returns SETOF oid language sql stable
    set search_path=pg_catalog, pg_temp;

create function svc.audit_period(p_table text, p_record text, p_timestamp timestamp with time zone, p_id bigint, p_xact_id bigint, OUT entry_id bigint, OUT entry_timestamp timestamp with time zone, OUT valid_to timestamp with time zone)
    returns record language plpgsql stable
    set search_path=pg_catalog, pg_temp
    set plan_cache_mode=force_generic_plan;

create function svc.audit_previous_event(p_table text, p_record text, p_timestamp timestamp with time zone, p_id bigint, p_other_than bigint DEFAULT NULL::bigint, OUT "timestamp" timestamp with time zone, OUT id bigint, OUT xact_id bigint)
    returns record language plpgsql stable
    set search_path=pg_catalog, pg_temp
    set enable_seqscan=off
    set enable_bitmapscan=off
    set enable_sort=off
    set enable_incremental_sort=off
    set jit=off
    set plan_cache_mode=force_generic_plan;

create function svc.audit_prune_leaves(p_limit integer)
    returns bigint language plpgsql security definer
    set search_path=pg_catalog, pg_temp
    set lock_timeout=300ms
    set enable_seqscan=off
    set jit=off;

create function svc.audit_purge_entries(p_partition oid, p_at_table text, p_from timestamp with time zone, p_before timestamp with time zone, p_tables text[], p_befores timestamp with time zone[], p_limit integer, OUT entries bigint, OUT by_table jsonb, OUT at_table text, OUT reached timestamp with time zone)
    returns record language plpgsql security definer
    set search_path=pg_catalog, pg_temp
    set enable_seqscan=off
    set enable_bitmapscan=off
    set enable_sort=off
    set enable_incremental_sort=off
    set jit=off
    set plan_cache_mode=force_generic_plan
    set TimeZone=UTC
    set DateStyle=ISO, YMD
    set lock_timeout=300ms;

create function svc.audit_purge_partition(p_partition oid, p_before timestamp with time zone, p_tables text[] DEFAULT '{}'::text[], p_befores timestamp with time zone[] DEFAULT '{}'::timestamp with time zone[])
    returns boolean language plpgsql security definer
    set search_path=pg_catalog, pg_temp
    set TimeZone=UTC
    set DateStyle=ISO, YMD
    set lock_timeout=300ms;

create function svc.audit_purge_plan(p_before timestamp with time zone, p_tables text[] DEFAULT '{}'::text[], p_befores timestamp with time zone[] DEFAULT '{}'::timestamp with time zone[])
    returns TABLE(partition_oid oid, partition_name text, is_whole boolean, entries bigint, by_table jsonb, kept text[]) language plpgsql security definer
    set search_path=pg_catalog, pg_temp;

create function svc.audit_purge_tables(p_partition oid, p_before timestamp with time zone, p_tables text[], p_befores timestamp with time zone[])
    returns TABLE(table_name text, before timestamp with time zone, has_old boolean, is_old boolean, kept text[]) language plpgsql stable security definer
    set search_path=pg_catalog, pg_temp
    set enable_seqscan=off
    set jit=off;

create function svc.audit_purge_whole(p_partition oid, p_before timestamp with time zone, p_tables text[], p_befores timestamp with time zone[])
    returns boolean language sql stable
    set search_path=pg_catalog, pg_temp;

create function svc.audit_purged_earlier(p_facts jsonb[])
    returns jsonb language sql stable
    set search_path=pg_catalog, pg_temp
    set TimeZone=UTC
    set DateStyle=ISO, YMD;

create function svc.audit_read_hash(p_key text)
    returns text language plpgsql stable security definer
    set search_path=pg_catalog, pg_temp;

create function svc.audit_read_key(p_key text)
    returns text language sql stable;

create function svc.audit_read_tables(p_tables text[] DEFAULT NULL::text[])
    returns TABLE(table_name text, of_table text, is_required boolean) language sql stable
    set search_path=pg_catalog, pg_temp;

create function svc.audit_record_all(p_relations oid[], p_tag text)
    returns void language plpgsql
    set search_path=pg_catalog, pg_temp;

create function svc.audit_record_ddl(p_relation oid, p_tag text, p_is_quiet boolean)
    returns text language plpgsql
    set search_path=pg_catalog, pg_temp;

create function svc.audit_record_dropped(p_known svc.audit_shapes, p_tag text, p_is_quiet boolean)
    returns void language plpgsql
    set search_path=pg_catalog, pg_temp;

create function svc.audit_record_id(p_table oid, p_row jsonb)
    returns text language sql stable parallel safe
    set search_path=pg_catalog, pg_temp;

create function svc.audit_record_rest(p_relations oid[], p_tag text)
    returns void language sql
    set search_path=pg_catalog, pg_temp;

create function svc.audit_record_unknown(p_relation oid, p_tag text, p_error text)
    returns text language plpgsql
    set search_path=pg_catalog, pg_temp;

create function svc.audit_refuse_copy()
    returns void language plpgsql stable
    set search_path=pg_catalog, pg_temp;

create function svc.audit_refuse_held(p_table text, p_record text, p_ids bigint[], p_timestamps timestamp with time zone[], p_known_as text[])
    returns void language plpgsql stable
    set search_path=pg_catalog, pg_temp
    set enable_hashjoin=off
    set enable_mergejoin=off
    set jit=off;

create function svc.audit_refuse_superuser(p_table text, p_relation oid DEFAULT NULL::oid, p_printed text[] DEFAULT '{}'::text[])
    returns void language plpgsql stable
    set search_path=pg_catalog, pg_temp;

create function svc.audit_refuse_way(p_way text)
    returns jsonb language plpgsql stable
    set search_path=pg_catalog, pg_temp;

create function svc.audit_removed_digest(p_removal bigint)
    returns text language sql stable
    set search_path=pg_catalog, pg_temp;

create function svc.audit_rename_new(p_relation oid, p_from text, p_to text)
    returns boolean language plpgsql
    set search_path=pg_catalog, pg_temp;

create function svc.audit_seal_lag()
    returns TABLE(number bigint, sealed_at timestamp with time zone, lag interval) language plpgsql stable security definer
    set search_path=pg_catalog, pg_temp;

create function svc.audit_shape(p_relation oid, p_is_part boolean)
    returns jsonb language sql stable
    set search_path=pg_catalog, pg_temp;

create function svc.audit_shape_differences(p_before jsonb, p_after jsonb)
    returns TABLE(part text, before text, after text, is_ours boolean) language sql immutable
    set search_path=pg_catalog, pg_temp;

create function svc.audit_state_before(p_table text, p_record text, p_timestamp timestamp with time zone, p_id bigint)
    returns text language plpgsql stable
    set search_path=pg_catalog, pg_temp
    set enable_seqscan=off
    set enable_bitmapscan=off
    set enable_sort=off
    set enable_incremental_sort=off
    set jit=off
    set plan_cache_mode=force_generic_plan;

create function svc.audit_tables_of(p_record text, p_most integer)
    returns text[] language plpgsql stable
    set search_path=pg_catalog, pg_temp
    set enable_seqscan=off
    set enable_bitmapscan=off
    set enable_sort=off
    set enable_incremental_sort=off
    set jit=off
    set plan_cache_mode=force_generic_plan;

create function svc.audit_transaction_entries(p_xact_id bigint, p_timestamp timestamp with time zone, p_id bigint, p_is_before boolean, p_limit integer)
    returns TABLE("timestamp" timestamp with time zone, id bigint) language plpgsql stable
    set search_path=pg_catalog, pg_temp
    set enable_seqscan=off
    set enable_indexscan=off
    set enable_indexonlyscan=off
    set cpu_index_tuple_cost=1e10
    set jit=off
    set plan_cache_mode=force_generic_plan;

create function svc.audit_transaction_first(p_from bigint, p_before bigint, p_since timestamp with time zone, p_since_id bigint)
    returns timestamp with time zone language plpgsql stable
    set search_path=pg_catalog, pg_temp;

create function svc.audit_transaction_last(p_from bigint, p_before bigint, p_until timestamp with time zone, p_until_id bigint)
    returns timestamp with time zone language plpgsql stable
    set search_path=pg_catalog, pg_temp;

create function svc.audit_transaction_probe(p_from bigint, p_before bigint, p_since timestamp with time zone, p_since_id bigint, p_until timestamp with time zone, p_until_id bigint, p_most integer, OUT entries bigint, OUT first timestamp with time zone, OUT last timestamp with time zone)
    returns record language plpgsql stable
    set search_path=pg_catalog, pg_temp
    set enable_seqscan=off
    set enable_indexscan=off
    set enable_indexonlyscan=off
    set cpu_index_tuple_cost=1e10
    set jit=off
    set plan_cache_mode=force_generic_plan;

create function svc.audit_transaction_times(p_from bigint, p_before bigint, OUT first timestamp with time zone, OUT last timestamp with time zone)
    returns record language plpgsql stable
    set search_path=pg_catalog, pg_temp;

create function svc.audit_trigger_sql(p_kind text, p_trigger text, p_function text, p_schema text, p_table text)
    returns text language sql immutable
    set search_path=pg_catalog, pg_temp;

create function svc.audit_truncated(p_table text, p_timestamp timestamp with time zone, p_id bigint)
    returns timestamp with time zone language plpgsql stable
    set search_path=pg_catalog, pg_temp
    set enable_seqscan=off
    set enable_bitmapscan=off
    set enable_sort=off
    set enable_incremental_sort=off
    set jit=off
    set plan_cache_mode=force_generic_plan;

create function svc.audit_truncates(p_table text, p_from timestamp with time zone, p_to timestamp with time zone)
    returns TABLE("timestamp" timestamp with time zone, id bigint, table_oid oid, partition text) language plpgsql stable
    set search_path=pg_catalog, pg_temp
    set enable_seqscan=off
    set enable_bitmapscan=off
    set enable_sort=off
    set enable_incremental_sort=off
    set jit=off
    set plan_cache_mode=force_generic_plan;

create function svc.audit_unattributed(p_table text)
    returns text language plpgsql stable parallel safe
    set search_path=pg_catalog, pg_temp;

create function svc.audit_unsealed_since()
    returns timestamp with time zone language plpgsql stable security definer
    set search_path=pg_catalog, pg_temp
    set enable_seqscan=off
    set enable_indexscan=off
    set enable_indexonlyscan=off
    set seq_page_cost=0
    set random_page_cost=0
    set cpu_tuple_cost=0
    set cpu_operator_cost=0
    set cpu_index_tuple_cost=1000000
    set plan_cache_mode=force_custom_plan
    set jit=off;

create function svc.audit_unsupported(p_text text, p_reason text)
    returns jsonb language sql immutable parallel safe
    set search_path=pg_catalog, pg_temp;

create function svc.audit_wait_for_holds(p_age interval DEFAULT '01:00:00'::interval)
    returns void language plpgsql security definer
    set search_path=pg_catalog, pg_temp;

create function svc.audit_walk(p_before text[], p_after text[], p_start text)
    returns integer[] language plpgsql immutable parallel safe
    set search_path=pg_catalog, pg_temp;

create function svc.audit_walk_ends(p_before text[], p_after text[])
    returns text[] language sql immutable parallel safe
    set search_path=pg_catalog, pg_temp;

create function svc.audit_without_capped(p_image jsonb)
    returns jsonb language sql immutable parallel safe
    set search_path=pg_catalog, pg_temp;

create function svc.audit_without_ignored(p_image text, p_ignored text[])
    returns text language sql immutable parallel safe
    set search_path=pg_catalog, pg_temp;

create function svc.audit_words(p_before jsonb, p_after jsonb, p_description text)
    returns tsvector language plpgsql immutable parallel safe
    set search_path=pg_catalog, pg_temp
    set client_min_messages=warning;

create function svc.capture_log(table_name text, operation text, record_id text DEFAULT NULL::text, before_data jsonb DEFAULT NULL::jsonb, after_data jsonb DEFAULT NULL::jsonb, label text DEFAULT NULL::text, severity text DEFAULT NULL::text, compliance text[] DEFAULT NULL::text[], description text DEFAULT NULL::text)
    returns bigint language plpgsql security definer
    set search_path=pg_catalog, pg_temp;

create function svc.capture_svc_audit_holds()
    returns trigger language plpgsql security definer
    set search_path=pg_catalog, pg_temp
    set TimeZone=UTC
    set extra_float_digits=1
    set DateStyle=ISO, YMD
    set IntervalStyle=iso_8601
    set bytea_output=hex
    set lc_monetary=C;

create function svc.capture_svc_console_sessions()
    returns trigger language plpgsql security definer
    set search_path=pg_catalog, pg_temp
    set TimeZone=UTC
    set extra_float_digits=1
    set DateStyle=ISO, YMD
    set IntervalStyle=iso_8601
    set bytea_output=hex
    set lc_monetary=C;

create function svc.capture_svc_console_tokens()
    returns trigger language plpgsql security definer
    set search_path=pg_catalog, pg_temp
    set TimeZone=UTC
    set extra_float_digits=1
    set DateStyle=ISO, YMD
    set IntervalStyle=iso_8601
    set bytea_output=hex
    set lc_monetary=C;

create function svc.capture_svc_tenants()
    returns trigger language plpgsql security definer
    set search_path=pg_catalog, pg_temp
    set TimeZone=UTC
    set extra_float_digits=1
    set DateStyle=ISO, YMD
    set IntervalStyle=iso_8601
    set bytea_output=hex
    set lc_monetary=C;

create function svc.capture_svc_webhook_endpoints()
    returns trigger language plpgsql security definer
    set search_path=pg_catalog, pg_temp
    set TimeZone=UTC
    set extra_float_digits=1
    set DateStyle=ISO, YMD
    set IntervalStyle=iso_8601
    set bytea_output=hex
    set lc_monetary=C;

create function svc.console_add_token(p_id uuid, p_name text, p_permission text, p_tenant text, p_token_hash bytea, p_lifetime interval)
    returns SETOF svc.console_tokens language plpgsql
    set search_path=pg_catalog, pg_temp;

create function svc.console_add_view(p_id uuid, p_list text, p_owner text, p_name text, p_question text)
    returns SETOF svc.console_views language plpgsql
    set search_path=pg_catalog, pg_temp;

create function svc.console_change_view(p_id uuid, p_owner text, p_name text, p_question text)
    returns SETOF svc.console_views language plpgsql
    set search_path=pg_catalog, pg_temp;

create function svc.console_check_tenant(p_tenant text)
    returns void language plpgsql
    set search_path=pg_catalog, pg_temp;

create function svc.console_claim(p_session_id uuid, p_device_hash bytea, p_token_hash bytea, p_permission text, p_expires_at timestamp with time zone, p_idle_timeout interval, p_ip inet, p_user_agent text)
    returns text language plpgsql
    set search_path=pg_catalog, pg_temp;

create function svc.console_delete_view(p_id uuid, p_owner text)
    returns boolean language plpgsql
    set search_path=pg_catalog, pg_temp;

create function svc.console_form(p_digest bytea, p_session_hash bytea)
    returns text language plpgsql
    set search_path=pg_catalog, pg_temp;

create function svc.console_guard_events()
    returns trigger language plpgsql
    set search_path=pg_catalog, pg_temp;

create function svc.console_hit(p_key text, p_limit integer, p_window interval, p_weight integer DEFAULT 1)
    returns integer language sql
    set search_path=pg_catalog, pg_temp;

create function svc.console_init(p_session_id uuid, p_email text, p_is_allowed boolean, p_is_named boolean, p_device_hash bytea, p_code_hash bytea, p_decoy_hash bytea, p_max_attempts integer, p_ip inet, p_user_agent text, p_device text, OUT is_mailed boolean, OUT retry_after integer)
    returns record language plpgsql
    set search_path=pg_catalog, pg_temp;

create function svc.console_is_new_tenant(p_tenant text)
    returns boolean language sql stable
    set search_path=pg_catalog, pg_temp;

create function svc.console_link(p_session_id uuid, p_email text, p_device_hash bytea, p_decoy_hash bytea, p_lifetime interval)
    returns timestamp with time zone language plpgsql
    set search_path=pg_catalog, pg_temp;

create function svc.console_link_state(p_link svc.console_magic_links, p_at timestamp with time zone)
    returns text language sql immutable parallel safe
    set search_path=pg_catalog, pg_temp;

create function svc.console_network(p_ip inet, p_ipv6_bits integer DEFAULT 64)
    returns text language sql immutable parallel safe
    set search_path=pg_catalog, pg_temp;

create function svc.console_poll(p_session_id uuid, p_device_hash bytea, OUT state text, OUT expires_in integer, OUT retry_after integer)
    returns record language plpgsql
    set search_path=pg_catalog, pg_temp;

create function svc.console_prune(p_limit integer DEFAULT 10000, OUT links bigint, OUT counts bigint, OUT sessions bigint, OUT tokens bigint, OUT events bigint)
    returns record language plpgsql
    set search_path=pg_catalog, pg_temp;

create function svc.console_revoke(p_id uuid)
    returns boolean language plpgsql
    set search_path=pg_catalog, pg_temp;

create function svc.console_revoke_token(p_id uuid)
    returns boolean language plpgsql
    set search_path=pg_catalog, pg_temp;

create function svc.console_session(p_token_hash bytea, p_is_use boolean DEFAULT true)
    returns TABLE(id uuid, email text, permission text, tenant text, expires_at timestamp with time zone, retry_after integer) language sql
    set search_path=pg_catalog, pg_temp;

create function svc.console_tenant_gone()
    returns trigger language plpgsql
    set search_path=pg_catalog, pg_temp;

create function svc.console_token(p_token_hash bytea, p_is_use boolean DEFAULT true)
    returns TABLE(id uuid, name text, permission text, tenant text, expires_at timestamp with time zone, retry_after integer) language sql
    set search_path=pg_catalog, pg_temp;

create function svc.console_verify(p_session_id uuid, p_device_hash bytea, p_code_hashes bytea[], p_ip inet, p_user_agent text, OUT outcome text, OUT attempts_remaining integer, OUT retry_after integer)
    returns record language plpgsql
    set search_path=pg_catalog, pg_temp;

create function svc.end_tenant_access(tenant text)
    returns integer language plpgsql
    set search_path=pg_catalog, pg_temp;

create function svc.erase(table_name text, record_id text)
    returns TABLE(of_table text, entries bigint) language plpgsql security definer
    set search_path=pg_catalog, pg_temp
    set lock_timeout=300ms
    set enable_hashjoin=off
    set enable_mergejoin=off
    set jit=off;

create function svc.history(table_name text, record_id text, since timestamp with time zone DEFAULT NULL::timestamp with time zone, until timestamp with time zone DEFAULT NULL::timestamp with time zone)
    returns TABLE(valid_from timestamp with time zone, valid_to timestamp with time zone, operation text, actor_id text, tenant_id text, db_user text, entry_id bigint, xact_id bigint, before_data jsonb, after_data jsonb, changed_fields text[], redacted_fields text[], moved_from text, moved_to text, is_in_order boolean, place_id bigint) language plpgsql stable
    set search_path=pg_catalog, pg_temp
    set enable_seqscan=off
    set enable_bitmapscan=off
    set enable_sort=off
    set enable_incremental_sort=off
    set jit=off
    set plan_cache_mode=force_generic_plan;

create function svc.hold(table_name text, record_id text, reason text)
    returns bigint language plpgsql security definer
    set search_path=pg_catalog, pg_temp;

create function svc.lift_hold(table_name text, record_id text, reason text)
    returns bigint language plpgsql security definer
    set search_path=pg_catalog, pg_temp;

create function svc.redact_svc_console_sessions(p_row jsonb, p_newer jsonb)
    returns jsonb language sql stable parallel safe;

create function svc.redact_svc_console_tokens(p_row jsonb, p_newer jsonb)
    returns jsonb language sql stable parallel safe;

create function svc.redact_svc_webhook_endpoints(p_row jsonb, p_newer jsonb)
    returns jsonb language sql stable parallel safe;

create function svc.send(event text, payload json, idempotency_key text DEFAULT NULL::text, tenant text DEFAULT NULL::text, delay interval DEFAULT '00:00:00'::interval, trace_context text DEFAULT NULL::text, key text DEFAULT NULL::text)
    returns uuid language plpgsql;

create function svc.send(event text, payload jsonb, idempotency_key text DEFAULT NULL::text, tenant text DEFAULT NULL::text, delay interval DEFAULT '00:00:00'::interval, trace_context text DEFAULT NULL::text, key text DEFAULT NULL::text)
    returns uuid language plpgsql;

create function svc.send(event text, payload text, idempotency_key text DEFAULT NULL::text, tenant text DEFAULT NULL::text, delay interval DEFAULT '00:00:00'::interval, trace_context text DEFAULT NULL::text, key text DEFAULT NULL::text)
    returns uuid language plpgsql security definer
    set search_path=pg_catalog, pg_temp;

create function svc.send_many(event text, payloads json[], idempotency_keys text[] DEFAULT NULL::text[], tenants text[] DEFAULT NULL::text[], delay interval DEFAULT '00:00:00'::interval, trace_context text DEFAULT NULL::text, keys text[] DEFAULT NULL::text[])
    returns uuid[] language plpgsql security definer
    set search_path=pg_catalog, pg_temp
    set jit=off;

create function svc.uuid7_at(point_in_time timestamp with time zone)
    returns uuid language sql immutable parallel safe
    set search_path=pg_catalog, pg_temp;

create function svc.webhook_acknowledge(p_ids uuid[], p_leases uuid[], p_dispositions text[], p_waits double precision[], p_outcomes text[], p_status_codes integer[], p_errors text[], p_durations_ms integer[], p_response_headers json[], p_response_bodies text[], p_remote_ips inet[])
    returns TABLE(accepted uuid[], disabled uuid[]) language plpgsql
    set search_path=pg_catalog, pg_temp
    set lock_timeout=5 s
    set enable_seqscan=off
    set enable_bitmapscan=off
    set enable_hashjoin=off
    set enable_mergejoin=off
    set enable_material=off
    set enable_sort=off
    set jit=off
    set plan_cache_mode=force_generic_plan;

create function svc.webhook_cancel(p_delivery uuid)
    returns SETOF svc.webhook_deliveries language plpgsql
    set search_path=pg_catalog, pg_temp;

create function svc.webhook_cancel_due(p_endpoints uuid[])
    returns void language plpgsql
    set search_path=pg_catalog, pg_temp
    set lock_timeout=5 s
    set enable_seqscan=off
    set enable_bitmapscan=off
    set enable_hashjoin=off
    set enable_mergejoin=off
    set enable_material=off
    set enable_sort=off
    set jit=off
    set plan_cache_mode=force_generic_plan;

create function svc.webhook_cancel_many(p_deliveries uuid[], p_reason text)
    returns SETOF svc.webhook_deliveries language sql
    set search_path=pg_catalog, pg_temp
    set lock_timeout=5 s
    set enable_seqscan=off
    set enable_bitmapscan=off
    set enable_hashjoin=off
    set enable_mergejoin=off
    set enable_material=off
    set enable_sort=off
    set jit=off
    set plan_cache_mode=force_generic_plan;

create function svc.webhook_cancel_pending(p_endpoint uuid, p_reason text, p_limit integer DEFAULT NULL::integer)
    returns void language plpgsql
    set search_path=pg_catalog, pg_temp
    set lock_timeout=5 s
    set enable_seqscan=off
    set enable_bitmapscan=off
    set enable_hashjoin=off
    set enable_mergejoin=off
    set enable_material=off
    set enable_sort=off
    set jit=off
    set plan_cache_mode=force_generic_plan;

create function svc.webhook_cause(p_event text, p_is_manual boolean)
    returns text language sql immutable parallel safe;

create function svc.webhook_changed_endpoint(p_endpoint svc.webhook_endpoints, p_columns json)
    returns svc.webhook_endpoints language plpgsql
    set search_path=pg_catalog, pg_temp;

create function svc.webhook_checked_filter(p_filter text)
    returns text language plpgsql immutable
    set search_path=pg_catalog, pg_temp;

create function svc.webhook_claim(p_worker text, p_batch integer, p_after uuid DEFAULT NULL::uuid, p_grace interval DEFAULT '00:00:15'::interval, p_share integer DEFAULT 16)
    returns TABLE(delivery_id uuid, lease_id uuid, attempt integer, max_attempts integer, endpoint_id uuid, endpoint_version integer, message_id uuid) language plpgsql
    set search_path=pg_catalog, pg_temp
    set lock_timeout=5 s
    set enable_seqscan=off
    set enable_bitmapscan=off
    set enable_hashjoin=off
    set enable_mergejoin=off
    set enable_material=off
    set enable_sort=off
    set jit=off
    set plan_cache_mode=force_generic_plan;

create function svc.webhook_clock()
    returns bigint language sql parallel safe;

create function svc.webhook_copies(p_endpoint uuid, p_deliveries uuid[], p_series uuid)
    returns uuid[] language plpgsql
    set search_path=pg_catalog, pg_temp;

create function svc.webhook_count_sent(p_endpoint uuid, p_since timestamp with time zone, p_before uuid, p_most integer, OUT number bigint, OUT earliest uuid)
    returns record language plpgsql stable
    set search_path=pg_catalog, pg_temp
    set lock_timeout=5 s
    set enable_seqscan=off
    set enable_bitmapscan=off
    set enable_hashjoin=off
    set enable_mergejoin=off
    set enable_material=off
    set enable_sort=off
    set jit=off
    set plan_cache_mode=force_generic_plan;

create function svc.webhook_delete_endpoint(p_endpoint uuid)
    returns SETOF svc.webhook_endpoints language plpgsql
    set search_path=pg_catalog, pg_temp;

create function svc.webhook_deliver(p_messages uuid[], p_event text, p_patterns text[], p_delay interval)
    returns boolean language plpgsql
    set search_path=pg_catalog, pg_temp;

create function svc.webhook_deliver_to(p_endpoint uuid, p_messages uuid[], p_filter text)
    returns bigint language plpgsql
    set search_path=pg_catalog, pg_temp;

create function svc.webhook_disable_by_worker(p_endpoint uuid, p_reason text)
    returns boolean language plpgsql
    set search_path=pg_catalog, pg_temp;

create function svc.webhook_document(p_payload json)
    returns TABLE(document jsonb, most_values integer, problem text) language plpgsql immutable
    set search_path=pg_catalog, pg_temp;

create function svc.webhook_emit_internal(p_event text, p_endpoint uuid, p_facts jsonb)
    returns void language plpgsql
    set search_path=pg_catalog, pg_temp;

create function svc.webhook_emit_seal(p_copy json)
    returns void language plpgsql
    set search_path=pg_catalog, pg_temp;

create function svc.webhook_endpoints_due(p_after uuid, p_limit integer)
    returns TABLE(endpoint_id uuid, next_attempt_at timestamp with time zone, ordinality integer) language sql stable;

create function svc.webhook_envelope(p_message svc.webhook_messages)
    returns text language sql stable parallel safe;

create function svc.webhook_event_schema(p_event text)
    returns json language sql stable security definer
    set search_path=pg_catalog, pg_temp;

create function svc.webhook_existing_delivery(p_delivery uuid)
    returns uuid language plpgsql stable
    set search_path=pg_catalog, pg_temp;

create function svc.webhook_fill_search(p_events text[], p_after uuid, OUT filled integer, OUT reached uuid)
    returns record language plpgsql
    set search_path=pg_catalog, pg_temp
    set lock_timeout=5 s
    set enable_seqscan=off
    set enable_bitmapscan=off
    set enable_hashjoin=off
    set enable_mergejoin=off
    set enable_material=off
    set enable_sort=off
    set jit=off
    set plan_cache_mode=force_generic_plan;

create function svc.webhook_filter_problem(p_filter text, p_steps bigint, p_document jsonb, p_values integer, p_problem text, p_until timestamp with time zone)
    returns text language plpgsql
    set search_path=pg_catalog, pg_temp;

create function svc.webhook_filter_steps(p_filter text)
    returns integer language plpgsql immutable
    set search_path=pg_catalog, pg_temp;

create function svc.webhook_follow_clock(p_batch integer, INOUT lane svc.webhook_lane DEFAULT NULL::svc.webhook_lane, INOUT endpoint_id uuid DEFAULT NULL::uuid, INOUT next_attempt_at timestamp with time zone DEFAULT NULL::timestamp with time zone, INOUT delivery_id uuid DEFAULT NULL::uuid, OUT mended integer)
    returns record language plpgsql
    set search_path=pg_catalog, pg_temp
    set lock_timeout=5 s
    set enable_seqscan=off
    set enable_bitmapscan=off
    set enable_hashjoin=off
    set enable_mergejoin=off
    set enable_material=off
    set enable_sort=off
    set jit=off
    set plan_cache_mode=force_generic_plan;

create function svc.webhook_follow_messages()
    returns trigger language plpgsql security definer
    set search_path=pg_catalog, pg_temp;

create function svc.webhook_free_keys(p_now timestamp with time zone)
    returns void language plpgsql
    set search_path=pg_catalog, pg_temp
    set lock_timeout=5 s
    set enable_seqscan=off
    set enable_bitmapscan=off
    set enable_hashjoin=off
    set enable_mergejoin=off
    set enable_material=off
    set enable_sort=off
    set jit=off
    set plan_cache_mode=force_generic_plan;

create function svc.webhook_hasten(p_deliveries uuid[])
    returns SETOF svc.webhook_deliveries language sql
    set search_path=pg_catalog, pg_temp
    set lock_timeout=5 s
    set enable_seqscan=off
    set enable_bitmapscan=off
    set enable_hashjoin=off
    set enable_mergejoin=off
    set enable_material=off
    set enable_sort=off
    set jit=off
    set plan_cache_mode=force_generic_plan;

create function svc.webhook_known_events(p_events text[])
    returns text[] language plpgsql stable
    set search_path=pg_catalog, pg_temp;

create function svc.webhook_line_up(p_endpoint uuid, p_room integer)
    returns integer language plpgsql
    set search_path=pg_catalog, pg_temp
    set lock_timeout=5 s
    set enable_seqscan=off
    set enable_bitmapscan=off
    set enable_hashjoin=off
    set enable_mergejoin=off
    set enable_material=off
    set enable_sort=off
    set jit=off
    set plan_cache_mode=force_generic_plan;

create function svc.webhook_make_due(p_now timestamp with time zone)
    returns void language plpgsql
    set search_path=pg_catalog, pg_temp
    set lock_timeout=5 s
    set enable_seqscan=off
    set enable_bitmapscan=off
    set enable_hashjoin=off
    set enable_mergejoin=off
    set enable_material=off
    set enable_sort=off
    set jit=off
    set plan_cache_mode=force_generic_plan;

create function svc.webhook_next_due(p_since timestamp with time zone DEFAULT now())
    returns timestamp with time zone language sql stable
    set search_path=pg_catalog, pg_temp
    set lock_timeout=5 s
    set enable_seqscan=off
    set enable_bitmapscan=off
    set enable_hashjoin=off
    set enable_mergejoin=off
    set enable_material=off
    set enable_sort=off
    set jit=off
    set plan_cache_mode=force_generic_plan;

create function svc.webhook_next_sequences(p_keys text[], p_tenants text[])
    returns bigint[] language plpgsql
    set search_path=pg_catalog, pg_temp;

create function svc.webhook_note_starts(p_endpoints uuid[], p_begun integer[], p_now timestamp with time zone)
    returns void language plpgsql
    set search_path=pg_catalog, pg_temp
    set lock_timeout=5 s
    set enable_seqscan=off
    set enable_bitmapscan=off
    set enable_hashjoin=off
    set enable_mergejoin=off
    set enable_material=off
    set enable_sort=off
    set jit=off
    set plan_cache_mode=force_generic_plan;

create function svc.webhook_notify()
    returns void language plpgsql
    set search_path=pg_catalog, pg_temp;

create function svc.webhook_open_endpoint(p_endpoint uuid)
    returns uuid language plpgsql stable
    set search_path=pg_catalog, pg_temp;

create function svc.webhook_open_portal(p_link_hash bytea, p_token_hash bytea, p_idle_timeout interval, p_ip inet, p_user_agent text)
    returns TABLE(session_id uuid, tenant text, expires_in integer) language plpgsql
    set search_path=pg_catalog, pg_temp;

create function svc.webhook_outage(p_endpoint uuid, p_tenant text, p_most integer, OUT since timestamp with time zone, OUT until timestamp with time zone, OUT opened_at timestamp with time zone[], OUT opened_until timestamp with time zone[], OUT starts timestamp with time zone[], OUT durations_ms integer[], OUT outcomes text[], OUT status_codes integer[], OUT is_every_attempt boolean, OUT first_delivery uuid, OUT first_attempt bigint, OUT last_delivery uuid, OUT last_attempt bigint, OUT waiting bigint, OUT waiting_since timestamp with time zone, OUT failed bigint, OUT is_every_failure boolean)
    returns record language plpgsql stable
    set search_path=pg_catalog, pg_temp
    set lock_timeout=5 s
    set enable_seqscan=off
    set enable_bitmapscan=off
    set enable_hashjoin=off
    set enable_mergejoin=off
    set enable_material=off
    set enable_sort=off
    set jit=off
    set plan_cache_mode=force_generic_plan;

create function svc.webhook_pace(p_rate integer, p_spent_until timestamp with time zone, p_now timestamp with time zone, p_started integer, OUT startable integer, OUT spent_until timestamp with time zone, OUT full_until timestamp with time zone)
    returns record language plpgsql immutable
    set search_path=pg_catalog, pg_temp;

create function svc.webhook_park(p_endpoints uuid[], p_now timestamp with time zone)
    returns void language sql
    set search_path=pg_catalog, pg_temp
    set lock_timeout=5 s
    set enable_seqscan=off
    set enable_bitmapscan=off
    set enable_hashjoin=off
    set enable_mergejoin=off
    set enable_material=off
    set enable_sort=off
    set jit=off
    set plan_cache_mode=force_generic_plan;

create function svc.webhook_patterns(p_event text)
    returns text[] language sql immutable parallel safe
    set search_path=pg_catalog, pg_temp;

create function svc.webhook_payload_problem(p_filter text, p_payload json)
    returns text language sql
    set search_path=pg_catalog, pg_temp;

create function svc.webhook_ping(p_endpoint uuid)
    returns SETOF svc.webhook_deliveries language plpgsql
    set search_path=pg_catalog, pg_temp;

create function svc.webhook_portal_link(p_id uuid, p_tenant text, p_token_hash bytea, p_session_lifetime interval, p_good_for interval)
    returns timestamp with time zone language plpgsql
    set search_path=pg_catalog, pg_temp;

create function svc.webhook_protocol(OUT oldest integer, OUT newest integer)
    returns record language sql immutable parallel safe
    set search_path=pg_catalog, pg_temp;

create function svc.webhook_prune(p_delivered interval, p_failed interval, p_batch integer DEFAULT 5000, p_after uuid DEFAULT '00000000-0000-0000-0000-000000000000'::uuid, p_until uuid DEFAULT NULL::uuid)
    returns integer language plpgsql
    set search_path=pg_catalog, pg_temp
    set lock_timeout=5 s
    set enable_seqscan=off
    set enable_bitmapscan=off
    set enable_hashjoin=off
    set enable_mergejoin=off
    set enable_material=off
    set enable_sort=off
    set jit=off
    set plan_cache_mode=force_generic_plan;

create function svc.webhook_prune_messages(p_kept interval, p_batch integer DEFAULT 5000, p_after uuid DEFAULT '00000000-0000-0000-0000-000000000000'::uuid, p_until uuid DEFAULT NULL::uuid)
    returns integer language plpgsql
    set search_path=pg_catalog, pg_temp
    set lock_timeout=5 s
    set enable_seqscan=off
    set enable_bitmapscan=off
    set enable_hashjoin=off
    set enable_mergejoin=off
    set enable_material=off
    set enable_sort=off
    set jit=off
    set plan_cache_mode=force_generic_plan;

create function svc.webhook_record_lost(p_deliveries uuid[], p_now timestamp with time zone)
    returns TABLE(delivery_id uuid, key_id bigint, sequence bigint) language sql
    set search_path=pg_catalog, pg_temp;

create function svc.webhook_refuse(p_event text, p_payload text, p_idempotency_key text, p_tenant text, p_delay interval, p_key text)
    returns void language plpgsql stable
    set search_path=pg_catalog, pg_temp;

create function svc.webhook_refuse_event(p_event text)
    returns void language plpgsql stable
    set search_path=pg_catalog, pg_temp;

create function svc.webhook_refuse_other(p_message uuid, p_event text, p_payload json)
    returns void language plpgsql
    set search_path=pg_catalog, pg_temp;

create function svc.webhook_refuse_text(p_payload text)
    returns void language plpgsql immutable
    set search_path=pg_catalog, pg_temp;

create function svc.webhook_replay(p_endpoint uuid, p_statuses text[], p_event text, p_after uuid, p_until uuid, p_series uuid, p_is_dry boolean, p_batch integer)
    returns TABLE(count bigint, last_message uuid) language plpgsql
    set search_path=pg_catalog, pg_temp
    set lock_timeout=5 s
    set enable_seqscan=off
    set enable_bitmapscan=off
    set enable_hashjoin=off
    set enable_mergejoin=off
    set enable_material=off
    set enable_sort=off
    set jit=off
    set plan_cache_mode=force_generic_plan;

create function svc.webhook_replay_finished(p_endpoint uuid, p_statuses text[], p_event text, p_after uuid, p_since timestamp with time zone, p_until timestamp with time zone, p_series uuid, p_is_dry boolean, p_batch integer)
    returns TABLE(count bigint, last_delivery uuid) language plpgsql
    set search_path=pg_catalog, pg_temp
    set lock_timeout=5 s
    set enable_seqscan=off
    set enable_bitmapscan=off
    set enable_hashjoin=off
    set enable_mergejoin=off
    set enable_material=off
    set enable_sort=off
    set jit=off
    set plan_cache_mode=force_generic_plan;

create function svc.webhook_retry(p_deliveries uuid[], p_statuses text[] DEFAULT '{pending,failed,canceled}'::text[])
    returns SETOF svc.webhook_deliveries language plpgsql
    set search_path=pg_catalog, pg_temp;

create function svc.webhook_retry_one(p_delivery uuid)
    returns SETOF svc.webhook_deliveries language plpgsql
    set search_path=pg_catalog, pg_temp;

create function svc.webhook_return_lost(p_now timestamp with time zone, p_endpoint uuid DEFAULT NULL::uuid)
    returns SETOF svc.webhook_deliveries language plpgsql
    set search_path=pg_catalog, pg_temp
    set lock_timeout=5 s
    set enable_seqscan=off
    set enable_bitmapscan=off
    set enable_hashjoin=off
    set enable_mergejoin=off
    set enable_material=off
    set enable_sort=off
    set jit=off
    set plan_cache_mode=force_generic_plan;

create function svc.webhook_row(p_row json, p_columns text[], p_needed text[])
    returns json language plpgsql immutable parallel safe
    set search_path=pg_catalog, pg_temp;

create function svc.webhook_sample(p_endpoint uuid, p_since timestamp with time zone, p_until timestamp with time zone, p_most integer, p_timed integer, OUT sent bigint, OUT failed_attempts bigint, OUT delivered bigint, OUT failed bigint, OUT late bigint, OUT earliest uuid, OUT durations integer[])
    returns record language plpgsql stable
    set search_path=pg_catalog, pg_temp
    set lock_timeout=5 s
    set enable_seqscan=off
    set enable_bitmapscan=off
    set enable_hashjoin=off
    set enable_mergejoin=off
    set enable_material=off
    set enable_sort=off
    set jit=off
    set plan_cache_mode=force_generic_plan;

create function svc.webhook_search_digest(p_key text, p_value text)
    returns bytea language sql immutable parallel safe;

create function svc.webhook_search_digests(p_keys text[], p_payload json)
    returns bytea[] language plpgsql immutable
    set search_path=pg_catalog, pg_temp;

create function svc.webhook_searched(p_key text, p_value text, p_event text)
    returns bytea language plpgsql stable
    set search_path=pg_catalog, pg_temp;

create function svc.webhook_set_status(p_endpoint uuid, p_status text, p_reason text DEFAULT NULL::text)
    returns SETOF svc.webhook_endpoints language plpgsql
    set search_path=pg_catalog, pg_temp;

create function svc.webhook_tell_exhausted(p_deliveries uuid[], p_untold uuid[] DEFAULT NULL::uuid[])
    returns void language plpgsql
    set search_path=pg_catalog, pg_temp;

create function svc.webhook_tell_outages(p_endpoints uuid[], p_since timestamp with time zone[], p_is_over boolean[])
    returns void language plpgsql
    set search_path=pg_catalog, pg_temp;

create function svc.webhook_unblock(p_endpoint uuid)
    returns void language plpgsql
    set search_path=pg_catalog, pg_temp;

create function svc.webhook_unpark(p_now timestamp with time zone)
    returns void language plpgsql
    set search_path=pg_catalog, pg_temp
    set lock_timeout=5 s
    set enable_seqscan=off
    set enable_bitmapscan=off
    set enable_hashjoin=off
    set enable_mergejoin=off
    set enable_material=off
    set enable_sort=off
    set jit=off
    set plan_cache_mode=force_generic_plan;

create function svc.webhook_uuid7()
    returns uuid language sql parallel safe;

create function svc.webhook_why(p_delivery uuid, p_now timestamp with time zone DEFAULT clock_timestamp())
    returns TABLE(reason text, since timestamp with time zone, until timestamp with time zone, other_id uuid, number integer, detail text) language plpgsql stable
    set search_path=pg_catalog, pg_temp
    set lock_timeout=5 s
    set enable_seqscan=off
    set enable_bitmapscan=off
    set enable_hashjoin=off
    set enable_mergejoin=off
    set enable_material=off
    set enable_sort=off
    set jit=off
    set plan_cache_mode=force_generic_plan;

-- Rights

grant usage on schema svc to svc_admin;
grant usage on schema svc to svc_reader;
grant usage on schema svc to svc_sender;
grant usage on schema svc to svc_writer;
grant execute on function svc.audit_about_no_record to svc_admin;
grant execute on function svc.audit_about_no_record to svc_reader;
grant execute on function svc.audit_about_no_record to svc_writer;
grant select on table svc.audit_activity_daily to svc_admin;
grant select on table svc.audit_activity_daily to svc_reader;
grant execute on function svc.audit_add_entry to svc_admin;
grant execute on function svc.audit_add_reads to svc_admin;
grant execute on function svc.audit_add_reads to svc_reader;
grant execute on function svc.audit_add_reconciliation to svc_admin;
grant execute on function svc.audit_add_removal to svc_admin;
grant execute on function svc.audit_add_seal to svc_admin;
grant execute on function svc.audit_add_seal_timestamp to svc_admin;
grant execute on function svc.audit_add_silence to svc_admin;
grant execute on function svc.audit_add_verification to svc_admin;
grant execute on function svc.audit_anonymous_key to svc_admin;
grant execute on function svc.audit_anonymous_key to svc_reader;
grant execute on function svc.audit_anonymous_key to svc_writer;
grant execute on function svc.audit_as_of_place to svc_admin;
grant execute on function svc.audit_as_of_place to svc_reader;
grant execute on function svc.audit_as_of_place to svc_writer;
grant execute on function svc.audit_as_of_record to svc_admin;
grant execute on function svc.audit_as_of_record to svc_reader;
grant execute on function svc.audit_as_of_record to svc_writer;
grant execute on function svc.audit_as_of_rows to svc_admin;
grant execute on function svc.audit_as_of_rows to svc_reader;
grant execute on function svc.audit_as_of_rows to svc_writer;
grant execute on function svc.audit_begin_epoch to svc_admin;
grant execute on function svc.audit_blame to svc_admin;
grant execute on function svc.audit_blame to svc_reader;
grant execute on function svc.audit_blame to svc_writer;
grant execute on function svc.audit_blame_before to svc_admin;
grant execute on function svc.audit_blame_before to svc_reader;
grant execute on function svc.audit_blame_before to svc_writer;
grant execute on function svc.audit_bounded to svc_admin;
grant execute on function svc.audit_bounded to svc_reader;
grant execute on function svc.audit_bounded to svc_writer;
grant execute on function svc.audit_bounded_tenant to svc_admin;
grant execute on function svc.audit_bounded_tenant to svc_reader;
grant execute on function svc.audit_bounded_tenant to svc_writer;
grant execute on function svc.audit_cap to svc_admin;
grant execute on function svc.audit_cap to svc_writer;
grant execute on function svc.audit_capture_new to svc_writer;
grant execute on function svc.audit_change_extent to svc_admin;
grant execute on function svc.audit_change_extent to svc_reader;
grant execute on function svc.audit_change_extent to svc_writer;
grant execute on function svc.audit_changed to svc_admin;
grant execute on function svc.audit_changed to svc_writer;
grant execute on function svc.audit_changed_redactions to svc_admin;
grant execute on function svc.audit_changed_redactions to svc_writer;
grant select on table svc.audit_changes to svc_admin;
grant select on table svc.audit_changes to svc_reader;
grant execute on function svc.audit_columns to svc_admin;
grant execute on function svc.audit_columns to svc_writer;
grant execute on function svc.audit_content to svc_admin;
grant execute on function svc.audit_content to svc_reader;
grant execute on function svc.audit_content to svc_writer;
grant execute on function svc.audit_count_stretch to svc_admin;
grant execute on function svc.audit_differing to svc_admin;
grant execute on function svc.audit_differing to svc_writer;
grant execute on function svc.audit_drifted to svc_admin;
grant execute on function svc.audit_drifted to svc_writer;
grant execute on function svc.audit_ensure_partitions to svc_admin;
grant execute on function svc.audit_entries_naming to svc_admin;
grant execute on function svc.audit_entries_naming to svc_reader;
grant execute on function svc.audit_entries_naming to svc_writer;
grant execute on function svc.audit_entries_of to svc_admin;
grant execute on function svc.audit_entries_of to svc_reader;
grant execute on function svc.audit_entries_of to svc_writer;
grant execute on function svc.audit_entry_time to svc_admin;
grant execute on function svc.audit_entry_time to svc_reader;
grant execute on function svc.audit_entry_time to svc_writer;
grant select on table svc.audit_epoch to svc_admin;
grant select on table svc.audit_epoch to svc_reader;
grant select on table svc.audit_epochs to svc_admin;
grant select on table svc.audit_epochs to svc_reader;
grant execute on function svc.audit_erasable to svc_admin;
grant execute on function svc.audit_erasable to svc_writer;
grant execute on function svc.audit_erased_key to svc_admin;
grant execute on function svc.audit_erased_key to svc_writer;
grant execute on function svc.audit_erasure to svc_admin;
grant execute on function svc.audit_erasure to svc_writer;
grant execute on function svc.audit_events to svc_admin;
grant execute on function svc.audit_events to svc_reader;
grant execute on function svc.audit_events to svc_writer;
grant execute on function svc.audit_first_of_table to svc_admin;
grant execute on function svc.audit_first_of_table to svc_reader;
grant execute on function svc.audit_first_of_table to svc_writer;
grant execute on function svc.audit_first_part to svc_admin;
grant execute on function svc.audit_first_part to svc_reader;
grant execute on function svc.audit_first_part to svc_writer;
grant execute on function svc.audit_follow_holds to svc_admin;
grant execute on function svc.audit_follow_purges to svc_admin;
grant select on table svc.audit_gaps to svc_admin;
grant execute on function svc.audit_hash to svc_admin;
grant execute on function svc.audit_hash to svc_writer;
grant select on table svc.audit_held_records to svc_admin;
grant select on table svc.audit_held_records to svc_reader;
grant execute on function svc.audit_history to svc_admin;
grant execute on function svc.audit_history to svc_reader;
grant execute on function svc.audit_history to svc_writer;
grant select on table svc.audit_holds to svc_admin;
grant select on table svc.audit_holds to svc_reader;
grant execute on function svc.audit_horizon to svc_admin;
grant execute on function svc.audit_horizon to svc_reader;
grant execute on function svc.audit_horizon to svc_writer;
grant execute on function svc.audit_image to svc_admin;
grant execute on function svc.audit_image to svc_writer;
grant execute on function svc.audit_installed_rules to svc_admin;
grant execute on function svc.audit_is_continuous to svc_admin;
grant execute on function svc.audit_is_continuous to svc_reader;
grant execute on function svc.audit_is_continuous to svc_writer;
grant execute on function svc.audit_is_copy to svc_admin;
grant execute on function svc.audit_is_copy to svc_writer;
grant execute on function svc.audit_is_found to svc_admin;
grant execute on function svc.audit_is_found to svc_reader;
grant execute on function svc.audit_is_mixed to svc_admin;
grant execute on function svc.audit_is_mixed to svc_writer;
grant execute on function svc.audit_is_rare to svc_admin;
grant execute on function svc.audit_is_rare to svc_reader;
grant execute on function svc.audit_is_rare to svc_writer;
grant execute on function svc.audit_key_of to svc_admin;
grant execute on function svc.audit_key_of to svc_writer;
grant execute on function svc.audit_keyless_holds to svc_admin;
grant execute on function svc.audit_keyless_holds to svc_writer;
grant execute on function svc.audit_keys to svc_admin;
grant execute on function svc.audit_keys to svc_writer;
grant execute on function svc.audit_last4 to svc_admin;
grant execute on function svc.audit_last4 to svc_writer;
grant execute on function svc.audit_last_known to svc_admin;
grant execute on function svc.audit_last_known to svc_writer;
grant execute on function svc.audit_last_seal to svc_admin;
grant execute on function svc.audit_last_seal to svc_writer;
grant execute on function svc.audit_last_truncate to svc_admin;
grant execute on function svc.audit_last_truncate to svc_reader;
grant execute on function svc.audit_last_truncate to svc_writer;
grant execute on function svc.audit_leaf to svc_admin;
grant execute on function svc.audit_leaf to svc_reader;
grant execute on function svc.audit_leaf to svc_writer;
grant select on table svc.audit_log_export to svc_admin;
grant select on table svc.audit_log_export to svc_reader;
grant select on table svc.audit_logs to svc_admin;
grant select on table svc.audit_logs to svc_reader;
grant insert on table svc.audit_logs to svc_writer;
grant select on table svc.audit_logs_default to svc_admin;
grant execute on function svc.audit_mask_all to svc_admin;
grant execute on function svc.audit_mask_all to svc_writer;
grant execute on function svc.audit_names_of to svc_admin;
grant execute on function svc.audit_names_of to svc_reader;
grant execute on function svc.audit_names_of to svc_writer;
grant execute on function svc.audit_near to svc_admin;
grant execute on function svc.audit_near to svc_reader;
grant execute on function svc.audit_near to svc_writer;
grant execute on function svc.audit_net_changes to svc_admin;
grant execute on function svc.audit_net_changes to svc_reader;
grant execute on function svc.audit_net_changes to svc_writer;
grant execute on function svc.audit_new_epoch to svc_admin;
grant execute on function svc.audit_new_epoch to svc_writer;
grant execute on function svc.audit_new_triggers to svc_writer;
grant execute on function svc.audit_next_event to svc_admin;
grant execute on function svc.audit_next_event to svc_reader;
grant execute on function svc.audit_next_event to svc_writer;
grant execute on function svc.audit_note_names to svc_admin;
grant execute on function svc.audit_note_shapes to svc_admin;
grant select on table svc.audit_omissions to svc_admin;
grant select on table svc.audit_omissions to svc_reader;
grant execute on function svc.audit_order to svc_admin;
grant execute on function svc.audit_order to svc_reader;
grant execute on function svc.audit_order to svc_writer;
grant execute on function svc.audit_other_names to svc_admin;
grant execute on function svc.audit_other_names to svc_reader;
grant execute on function svc.audit_other_names to svc_writer;
grant execute on function svc.audit_parsed_time to svc_admin;
grant execute on function svc.audit_parsed_time to svc_reader;
grant execute on function svc.audit_parsed_time to svc_writer;
grant execute on function svc.audit_partition_end to svc_admin;
grant execute on function svc.audit_partition_end to svc_writer;
grant execute on function svc.audit_partition_start to svc_admin;
grant execute on function svc.audit_partition_start to svc_writer;
grant execute on function svc.audit_period to svc_admin;
grant execute on function svc.audit_period to svc_reader;
grant execute on function svc.audit_period to svc_writer;
grant execute on function svc.audit_previous_event to svc_admin;
grant execute on function svc.audit_previous_event to svc_reader;
grant execute on function svc.audit_previous_event to svc_writer;
grant execute on function svc.audit_prune_leaves to svc_admin;
grant execute on function svc.audit_purge_entries to svc_admin;
grant execute on function svc.audit_purge_partition to svc_admin;
grant execute on function svc.audit_purge_plan to svc_admin;
grant execute on function svc.audit_purge_tables to svc_admin;
grant execute on function svc.audit_purge_tables to svc_writer;
grant execute on function svc.audit_purge_whole to svc_admin;
grant execute on function svc.audit_purge_whole to svc_writer;
grant execute on function svc.audit_purged_earlier to svc_admin;
grant execute on function svc.audit_read_hash to svc_admin;
grant execute on function svc.audit_read_hash to svc_reader;
grant execute on function svc.audit_read_key to svc_admin;
grant execute on function svc.audit_read_key to svc_reader;
grant execute on function svc.audit_read_tables to svc_admin;
grant execute on function svc.audit_read_tables to svc_reader;
grant execute on function svc.audit_read_tables to svc_writer;
grant execute on function svc.audit_record_id to svc_admin;
grant execute on function svc.audit_record_id to svc_writer;
grant execute on function svc.audit_refuse_copy to svc_admin;
grant execute on function svc.audit_refuse_copy to svc_writer;
grant execute on function svc.audit_refuse_held to svc_admin;
grant execute on function svc.audit_refuse_held to svc_writer;
grant execute on function svc.audit_refuse_superuser to svc_admin;
grant execute on function svc.audit_refuse_superuser to svc_writer;
grant execute on function svc.audit_refuse_way to svc_admin;
grant select on table svc.audit_relations to svc_admin;
grant select on table svc.audit_removals to svc_admin;
grant select on table svc.audit_removals to svc_reader;
grant execute on function svc.audit_removed_digest to svc_admin;
grant execute on function svc.audit_removed_digest to svc_writer;
grant select on table svc.audit_removed_leaves to svc_admin;
grant select on table svc.audit_removed_leaves to svc_reader;
grant execute on function svc.audit_seal_lag to svc_admin;
grant execute on function svc.audit_seal_lag to svc_reader;
grant execute on function svc.audit_seal_lag to svc_writer;
grant select on table svc.audit_seal_leaves to svc_admin;
grant select on table svc.audit_seal_leaves to svc_reader;
grant select on table svc.audit_seal_lock to svc_admin;
grant select on table svc.audit_seal_lock to svc_reader;
grant select on table svc.audit_seal_timestamps to svc_admin;
grant select on table svc.audit_seal_timestamps to svc_reader;
grant select on table svc.audit_seals to svc_admin;
grant select on table svc.audit_seals to svc_reader;
grant execute on function svc.audit_state_before to svc_admin;
grant execute on function svc.audit_state_before to svc_reader;
grant execute on function svc.audit_state_before to svc_writer;
grant select on table svc.audit_table_names to svc_admin;
grant select on table svc.audit_table_names to svc_reader;
grant execute on function svc.audit_tables_of to svc_admin;
grant execute on function svc.audit_tables_of to svc_reader;
grant execute on function svc.audit_tables_of to svc_writer;
grant execute on function svc.audit_transaction_entries to svc_admin;
grant execute on function svc.audit_transaction_entries to svc_reader;
grant execute on function svc.audit_transaction_entries to svc_writer;
grant execute on function svc.audit_transaction_first to svc_admin;
grant execute on function svc.audit_transaction_first to svc_reader;
grant execute on function svc.audit_transaction_first to svc_writer;
grant execute on function svc.audit_transaction_last to svc_admin;
grant execute on function svc.audit_transaction_last to svc_reader;
grant execute on function svc.audit_transaction_last to svc_writer;
grant execute on function svc.audit_transaction_probe to svc_admin;
grant execute on function svc.audit_transaction_probe to svc_reader;
grant execute on function svc.audit_transaction_probe to svc_writer;
grant execute on function svc.audit_transaction_times to svc_admin;
grant execute on function svc.audit_transaction_times to svc_reader;
grant execute on function svc.audit_transaction_times to svc_writer;
grant execute on function svc.audit_trigger_sql to svc_writer;
grant execute on function svc.audit_truncated to svc_admin;
grant execute on function svc.audit_truncated to svc_reader;
grant execute on function svc.audit_truncated to svc_writer;
grant execute on function svc.audit_truncates to svc_admin;
grant execute on function svc.audit_truncates to svc_reader;
grant execute on function svc.audit_truncates to svc_writer;
grant execute on function svc.audit_unattributed to svc_admin;
grant execute on function svc.audit_unattributed to svc_writer;
grant execute on function svc.audit_unsealed_since to svc_admin;
grant execute on function svc.audit_unsealed_since to svc_writer;
grant execute on function svc.audit_unsupported to svc_admin;
grant execute on function svc.audit_unsupported to svc_writer;
grant select on table svc.audit_verifications to svc_admin;
grant select on table svc.audit_verifications to svc_reader;
grant execute on function svc.audit_wait_for_holds to svc_admin;
grant execute on function svc.audit_walk to svc_admin;
grant execute on function svc.audit_walk to svc_reader;
grant execute on function svc.audit_walk to svc_writer;
grant execute on function svc.audit_walk_ends to svc_admin;
grant execute on function svc.audit_walk_ends to svc_reader;
grant execute on function svc.audit_walk_ends to svc_writer;
grant execute on function svc.audit_without_capped to svc_admin;
grant execute on function svc.audit_without_capped to svc_reader;
grant execute on function svc.audit_without_capped to svc_writer;
grant execute on function svc.audit_without_ignored to svc_admin;
grant execute on function svc.audit_without_ignored to svc_reader;
grant execute on function svc.audit_without_ignored to svc_writer;
grant execute on function svc.audit_words to svc_admin;
grant execute on function svc.audit_words to svc_reader;
grant execute on function svc.audit_words to svc_writer;
grant execute on function svc.capture_log to svc_admin;
grant execute on function svc.console_add_token to svc_admin;
grant execute on function svc.console_add_view to svc_admin;
grant execute on function svc.console_change_view to svc_admin;
grant execute on function svc.console_check_tenant to svc_admin;
grant execute on function svc.console_claim to svc_admin;
grant execute on function svc.console_delete_view to svc_admin;
grant delete, insert, select, update on table svc.console_events to svc_admin;
grant select on table svc.console_events to svc_reader;
grant execute on function svc.console_form to svc_admin;
grant delete, insert, select, update on table svc.console_forms to svc_admin;
grant execute on function svc.console_hit to svc_admin;
grant execute on function svc.console_init to svc_admin;
grant execute on function svc.console_is_new_tenant to svc_admin;
grant execute on function svc.console_link to svc_admin;
grant execute on function svc.console_link_state to svc_admin;
grant delete, insert, select, update on table svc.console_magic_links to svc_admin;
grant execute on function svc.console_network to svc_admin;
grant execute on function svc.console_poll to svc_admin;
grant delete, insert, select, update on table svc.console_portal_links to svc_admin;
grant execute on function svc.console_prune to svc_admin;
grant delete, insert, select, update on table svc.console_rate to svc_admin;
grant execute on function svc.console_revoke to svc_admin;
grant execute on function svc.console_revoke_token to svc_admin;
grant execute on function svc.console_session to svc_admin;
grant select (id, email, permission, tenant, ip, user_agent, created_at, expires_at, idle_timeout, revoked_at, revoked_by) on table svc.console_sessions to svc_reader;
grant delete, insert, select, update on table svc.console_sessions to svc_admin;
grant execute on function svc.console_token to svc_admin;
grant select (id, name, permission, tenant, created_at, created_by, expires_at, revoked_at, revoked_by) on table svc.console_tokens to svc_reader;
grant delete, insert, select, update on table svc.console_tokens to svc_admin;
grant delete, insert, select, update on table svc.console_uses to svc_admin;
grant select on table svc.console_uses to svc_reader;
grant execute on function svc.console_verify to svc_admin;
grant delete, insert, select, update on table svc.console_views to svc_admin;
grant execute on function svc.end_tenant_access to svc_admin;
grant execute on function svc.erase to svc_admin;
grant execute on function svc.history to svc_admin;
grant execute on function svc.history to svc_reader;
grant execute on function svc.hold to svc_admin;
grant select on table svc.installation to svc_admin;
grant select on table svc.installed_inventory to svc_admin;
grant select on table svc.installed_objects to svc_admin;
grant execute on function svc.lift_hold to svc_admin;
grant delete, insert, select, update on table svc.maintenance to svc_admin;
grant select on table svc.maintenance to svc_reader;
grant select on table svc.migrations to svc_admin;
grant execute on function svc.redact_svc_console_sessions to svc_admin;
grant execute on function svc.redact_svc_console_sessions to svc_writer;
grant execute on function svc.redact_svc_console_tokens to svc_admin;
grant execute on function svc.redact_svc_console_tokens to svc_writer;
grant execute on function svc.redact_svc_webhook_endpoints to svc_admin;
grant execute on function svc.redact_svc_webhook_endpoints to svc_writer;
grant delete, insert, select, update on table svc.seal_destinations to svc_admin;
grant select on table svc.seal_destinations to svc_reader;
grant execute on function svc.send(text, json, text, text, interval, text, text) to svc_admin;
grant execute on function svc.send(text, json, text, text, interval, text, text) to svc_sender;
grant execute on function svc.send(text, jsonb, text, text, interval, text, text) to svc_admin;
grant execute on function svc.send(text, jsonb, text, text, interval, text, text) to svc_sender;
grant execute on function svc.send(text, text, text, text, interval, text, text) to svc_admin;
grant execute on function svc.send(text, text, text, text, interval, text, text) to svc_sender;
grant execute on function svc.send_many to svc_admin;
grant execute on function svc.send_many to svc_sender;
grant execute on function svc.send_many to svc_writer;
grant delete, insert, select, update on table svc.tenants to svc_admin;
grant select on table svc.tenants to svc_reader;
grant execute on function svc.uuid7_at to svc_admin;
grant execute on function svc.uuid7_at to svc_reader;
grant execute on function svc.webhook_acknowledge to svc_admin;
grant delete, insert, select, update on table svc.webhook_blocks to svc_admin;
grant select on table svc.webhook_blocks to svc_reader;
grant execute on function svc.webhook_cancel to svc_admin;
grant execute on function svc.webhook_cancel_due to svc_admin;
grant execute on function svc.webhook_cancel_many to svc_admin;
grant execute on function svc.webhook_cancel_pending to svc_admin;
grant execute on function svc.webhook_cause to svc_admin;
grant execute on function svc.webhook_changed_endpoint to svc_admin;
grant execute on function svc.webhook_checked_filter to svc_admin;
grant execute on function svc.webhook_claim to svc_admin;
grant select, update on table svc.webhook_claim_lock to svc_admin;
grant select on table svc.webhook_claim_lock to svc_reader;
grant execute on function svc.webhook_clock to svc_admin;
grant execute on function svc.webhook_copies to svc_admin;
grant execute on function svc.webhook_count_sent to svc_admin;
grant execute on function svc.webhook_delete_endpoint to svc_admin;
grant execute on function svc.webhook_deliver to svc_admin;
grant execute on function svc.webhook_deliver_to to svc_admin;
grant delete, insert, select, update on table svc.webhook_deliveries to svc_admin;
grant select on table svc.webhook_deliveries to svc_reader;
grant delete, insert, select, update on table svc.webhook_delivery_attempts to svc_admin;
grant select on table svc.webhook_delivery_attempts to svc_reader;
grant select on table svc.webhook_delivery_export to svc_admin;
grant select on table svc.webhook_delivery_export to svc_reader;
grant execute on function svc.webhook_disable_by_worker to svc_admin;
grant execute on function svc.webhook_document to svc_admin;
grant execute on function svc.webhook_emit_internal to svc_admin;
grant execute on function svc.webhook_emit_seal to svc_admin;
grant select on table svc.webhook_endpoint_health to svc_admin;
grant select on table svc.webhook_endpoint_health to svc_reader;
grant delete, insert, select, update on table svc.webhook_endpoint_state to svc_admin;
grant select on table svc.webhook_endpoint_state to svc_reader;
grant select (id, url, url_by, description, tenant, events, filter, ordering, signatures, previous_secret_expires_at, public_key, client_certificate_expires_at, status, disabled_reason, max_in_flight, rate_per_second, timeout, version, created_at, updated_at) on table svc.webhook_endpoints to svc_reader;
grant delete, insert, select, update on table svc.webhook_endpoints to svc_admin;
grant execute on function svc.webhook_endpoints_due to svc_admin;
grant execute on function svc.webhook_endpoints_due to svc_reader;
grant execute on function svc.webhook_envelope to svc_admin;
grant execute on function svc.webhook_event_schema to svc_admin;
grant execute on function svc.webhook_event_schema to svc_sender;
grant delete, insert, select, update on table svc.webhook_event_types to svc_admin;
grant select on table svc.webhook_event_types to svc_reader;
grant execute on function svc.webhook_existing_delivery to svc_admin;
grant execute on function svc.webhook_existing_delivery to svc_reader;
grant execute on function svc.webhook_fill_search to svc_admin;
grant execute on function svc.webhook_filter_problem to svc_admin;
grant execute on function svc.webhook_filter_steps to svc_admin;
grant execute on function svc.webhook_follow_clock to svc_admin;
grant execute on function svc.webhook_free_keys to svc_admin;
grant delete, insert, select, update on table svc.webhook_freed to svc_admin;
grant select on table svc.webhook_freed to svc_reader;
grant execute on function svc.webhook_hasten to svc_admin;
grant delete, insert, select, update on table svc.webhook_keys to svc_admin;
grant select on table svc.webhook_keys to svc_reader;
grant execute on function svc.webhook_known_events to svc_admin;
grant delete, insert, select, update on table svc.webhook_leases to svc_admin;
grant select on table svc.webhook_leases to svc_reader;
grant execute on function svc.webhook_line_up to svc_admin;
grant execute on function svc.webhook_make_due to svc_admin;
grant delete, insert, select, update on table svc.webhook_messages to svc_admin;
grant select on table svc.webhook_messages to svc_reader;
grant execute on function svc.webhook_next_due to svc_admin;
grant execute on function svc.webhook_next_sequences to svc_admin;
grant execute on function svc.webhook_note_starts to svc_admin;
grant execute on function svc.webhook_notify to svc_admin;
grant execute on function svc.webhook_open_endpoint to svc_admin;
grant execute on function svc.webhook_open_portal to svc_admin;
grant execute on function svc.webhook_outage to svc_admin;
grant execute on function svc.webhook_pace to svc_admin;
grant execute on function svc.webhook_pace to svc_reader;
grant execute on function svc.webhook_park to svc_admin;
grant delete, insert, select, update on table svc.webhook_parked_endpoints to svc_admin;
grant select on table svc.webhook_parked_endpoints to svc_reader;
grant execute on function svc.webhook_patterns to svc_admin;
grant execute on function svc.webhook_payload_problem to svc_admin;
grant execute on function svc.webhook_ping to svc_admin;
grant execute on function svc.webhook_portal_link to svc_admin;
grant execute on function svc.webhook_protocol to svc_admin;
grant execute on function svc.webhook_prune to svc_admin;
grant execute on function svc.webhook_prune_messages to svc_admin;
grant delete, insert, select, update on table svc.webhook_queue to svc_admin;
grant select on table svc.webhook_queue to svc_reader;
grant delete, insert, select, update on table svc.webhook_rates to svc_admin;
grant select on table svc.webhook_rates to svc_reader;
grant execute on function svc.webhook_record_lost to svc_admin;
grant execute on function svc.webhook_refuse to svc_admin;
grant execute on function svc.webhook_refuse_event to svc_admin;
grant execute on function svc.webhook_refuse_other to svc_admin;
grant execute on function svc.webhook_refuse_text to svc_admin;
grant execute on function svc.webhook_replay to svc_admin;
grant execute on function svc.webhook_replay_finished to svc_admin;
grant execute on function svc.webhook_retry to svc_admin;
grant execute on function svc.webhook_retry_one to svc_admin;
grant execute on function svc.webhook_return_lost to svc_admin;
grant execute on function svc.webhook_row to svc_admin;
grant execute on function svc.webhook_row to svc_writer;
grant execute on function svc.webhook_sample to svc_admin;
grant execute on function svc.webhook_sample to svc_reader;
grant execute on function svc.webhook_search_digest to svc_admin;
grant execute on function svc.webhook_search_digest to svc_reader;
grant execute on function svc.webhook_search_digests to svc_admin;
grant delete, insert, select, update on table svc.webhook_search_values to svc_admin;
grant select on table svc.webhook_search_values to svc_reader;
grant execute on function svc.webhook_searched to svc_admin;
grant execute on function svc.webhook_searched to svc_reader;
grant execute on function svc.webhook_set_status to svc_admin;
grant execute on function svc.webhook_tell_exhausted to svc_admin;
grant execute on function svc.webhook_tell_outages to svc_admin;
grant execute on function svc.webhook_unblock to svc_admin;
grant execute on function svc.webhook_unpark to svc_admin;
grant execute on function svc.webhook_uuid7 to svc_admin;
grant execute on function svc.webhook_why to svc_admin;
grant execute on function svc.webhook_why to svc_reader;
