-- Signing in to the console: the links that are asked for, the sessions they become, how often who asked, what
-- happened.

-- A link is bound to the device that asked for it, by the hash of a token that only this device has. code_hash is
-- keyed, and the key is not in the database: a plain hash of 30 bits falls to a search in minutes. A decoy's is
-- random. expires_at is the end of the time to verify and then of the time to claim; see svc.console_link_state.
create table svc.console_magic_links (
    session_id uuid primary key,
    email text not null,
    device_hash bytea not null check (octet_length(device_hash) = 32),
    code_hash bytea not null check (octet_length(code_hash) = 32),
    status text not null default 'pending' check (status in ('pending', 'verified', 'claimed', 'locked')),
    failed_attempts integer not null default 0,
    max_attempts integer not null check (max_attempts > 0),
    ip inet,
    user_agent text check (length(user_agent) <= 256),
    created_at timestamptz not null default now(),
    expires_at timestamptz not null,
    verified_at timestamptz,
    claimed_at timestamptz,
    polled_at timestamptz,
    is_known_device boolean not null default false,
    made_by text,
    check (failed_attempts between 0 and max_attempts),
    check ((status = 'locked') = (failed_attempts = max_attempts)),
    check ((status in ('verified', 'claimed')) = (verified_at is not null)),
    check ((status = 'claimed') = (claimed_at is not null))
) with (fillfactor = 70);
create index console_magic_links_created on svc.console_magic_links (created_at);

-- The id is that of the link: one link becomes one session.
create table svc.console_sessions (
    id uuid primary key,
    email text not null,
    permission text not null check (permission in ('read', 'write', 'admin')),
    tenant text,
    token_hash bytea not null unique check (octet_length(token_hash) = 32),
    ip inet,
    user_agent text check (length(user_agent) <= 256),
    created_at timestamptz not null default now(),
    expires_at timestamptz not null,
    idle_timeout interval not null default '8 h' check (idle_timeout > '0'),
    revoked_at timestamptz,
    revoked_by text,
    check ((revoked_at is null) = (revoked_by is null))
);
create index console_sessions_created on svc.console_sessions (created_at, id);

-- Tokens of programs. A name is free again when its token is revoked.
create table svc.console_tokens (
    id uuid primary key,
    name text not null check (name ~ '^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$'),
    permission text not null check (permission in ('read', 'write', 'admin')),
    tenant text,
    token_hash bytea not null unique check (octet_length(token_hash) = 32),
    created_at timestamptz not null default now(),
    created_by text not null,
    expires_at timestamptz not null,
    revoked_at timestamptz,
    revoked_by text,
    check ((revoked_at is null) = (revoked_by is null))
);
create unique index console_tokens_name on svc.console_tokens (name) where revoked_at is null;
create index console_tokens_created on svc.console_tokens (created_at, id);

-- Links to the portal, where a customer manages the webhooks of one tenant. Each becomes a session, once.
create table svc.console_portal_links (
    id uuid primary key,
    tenant text not null,
    token_hash bytea not null unique check (octet_length(token_hash) = 32),
    session_lifetime interval not null check (session_lifetime > '0'),
    created_at timestamptz not null default now(),
    created_by text not null,
    expires_at timestamptz not null,
    opened_at timestamptz,
    revoked_at timestamptz,
    revoked_by text,
    check ((revoked_at is null) = (revoked_by is null)),
    check (opened_at is null or revoked_at is null)
);
create index console_portal_links_created on svc.console_portal_links (created_at);

-- The last use of sessions and tokens, written once a minute: apart from them, so that their audit holds no noise.
create table svc.console_uses (
    id uuid primary key,
    used_at timestamptz not null
) with (fillfactor = 50);

-- Unlogged: after a crash the counting begins anew, which is better than a flushed write for every request.
create unlogged table svc.console_rate (
    key text primary key,
    hits integer not null check (hits >= 0),
    ends_at timestamptz not null
) with (fillfactor = 50);

create table svc.console_events (
    id bigint generated always as identity primary key,
    occurred_at timestamptz not null default now(),
    event text not null check (event in (
        'link_requested', 'mail_failed', 'code_rejected', 'link_locked', 'code_accepted', 'signed_in',
        'session_revoked', 'log_exported', 'call_refused', 'link_made', 'token_added', 'token_revoked',
        'portal_link_made', 'portal_link_revoked', 'portal_opened'
    )),
    session_id uuid,
    email text not null,
    ip inet,
    user_agent text check (length(user_agent) <= 256),
    detail text
);
create index console_events_occurred on svc.console_events (occurred_at);

comment on table svc.console_magic_links is 'Internal: sign-ins that have begun.';
comment on column svc.console_magic_links.session_id is 'The id of the session to be.';
comment on column svc.console_magic_links.email is 'The address that asked.';
comment on column svc.console_magic_links.device_hash is 'The hash of the device''s token.';
comment on column svc.console_magic_links.code_hash is 'The keyed hash of the code.';
comment on column svc.console_magic_links.status is 'Pending, verified, claimed or locked.';
comment on column svc.console_magic_links.failed_attempts is 'Wrong codes so far.';
comment on column svc.console_magic_links.max_attempts is 'Wrong codes that lock it.';
comment on column svc.console_magic_links.ip is 'The client''s address.';
comment on column svc.console_magic_links.user_agent is 'The client''s User-Agent.';
comment on column svc.console_magic_links.created_at is 'When it was asked for.';
comment on column svc.console_magic_links.expires_at is 'The end of the time to verify, then of the time to claim.';
comment on column svc.console_magic_links.verified_at is 'When the code was right.';
comment on column svc.console_magic_links.claimed_at is 'When it became a session.';
comment on column svc.console_magic_links.polled_at is 'When the device last asked.';

comment on column svc.console_magic_links.made_by is 'The user of the shell that made it; null if it was asked for.';
comment on column svc.console_magic_links.is_known_device is 'True if the device proved an earlier sign-in.';

comment on table svc.console_sessions is 'The sessions of people who are or were signed in to the console.';
comment on column svc.console_sessions.id is 'The session''s id.';
comment on column svc.console_sessions.email is 'The address that signed in.';
comment on column svc.console_sessions.permission is 'read, write or admin.';
comment on column svc.console_sessions.tenant is 'The only tenant that it sees; null: all.';
comment on column svc.console_sessions.token_hash is 'Internal: the hash of the token.';
comment on column svc.console_sessions.ip is 'The address of the sign-in.';
comment on column svc.console_sessions.user_agent is 'The browser''s User-Agent.';
comment on column svc.console_sessions.created_at is 'When it began.';
comment on column svc.console_sessions.expires_at is 'When it ends by itself.';
comment on column svc.console_sessions.idle_timeout is 'It ends before, if it is not used for so long.';
comment on column svc.console_sessions.revoked_at is 'When it was ended before.';
comment on column svc.console_sessions.revoked_by is 'The actor that ended it.';

comment on table svc.console_tokens is 'The tokens of programs that call the console.';
comment on column svc.console_tokens.id is 'The token''s id.';
comment on column svc.console_tokens.name is 'The program; entries of the log name it as token:name.';
comment on column svc.console_tokens.permission is 'read, write or admin.';
comment on column svc.console_tokens.tenant is 'The only tenant that it sees; null: all.';
comment on column svc.console_tokens.token_hash is 'Internal: the hash of the token.';
comment on column svc.console_tokens.created_at is 'When it was made.';
comment on column svc.console_tokens.created_by is 'The actor that made it.';
comment on column svc.console_tokens.expires_at is 'When it ends by itself.';
comment on column svc.console_tokens.revoked_at is 'When it was ended before.';
comment on column svc.console_tokens.revoked_by is 'The actor that ended it.';

comment on table svc.console_portal_links is 'Internal: links to the portal of a tenant.';
comment on column svc.console_portal_links.id is 'The link''s id, and that of its session.';
comment on column svc.console_portal_links.tenant is 'The tenant whose webhooks it shows.';
comment on column svc.console_portal_links.token_hash is 'The hash of the link''s token.';
comment on column svc.console_portal_links.session_lifetime is 'How long its session lasts.';
comment on column svc.console_portal_links.created_at is 'When it was made.';
comment on column svc.console_portal_links.created_by is 'The actor that made it.';
comment on column svc.console_portal_links.expires_at is 'When it can be opened no more.';
comment on column svc.console_portal_links.opened_at is 'When it was opened.';
comment on column svc.console_portal_links.revoked_at is 'When it was revoked before it was opened.';
comment on column svc.console_portal_links.revoked_by is 'The actor that revoked it.';

comment on table svc.console_uses is 'The last use of sessions and tokens.';
comment on column svc.console_uses.id is 'The session or the token.';
comment on column svc.console_uses.used_at is 'When it was last used, to the minute.';

comment on table svc.console_rate is 'Internal: how often something was asked for.';
comment on column svc.console_rate.key is 'The client and the request that are counted.';
comment on column svc.console_rate.hits is 'The number of requests.';
comment on column svc.console_rate.ends_at is 'When the counting begins anew.';

comment on table svc.console_events is
    'The events of the console: sign-ins, exports, refused calls, and changes of tokens.';
comment on column svc.console_events.id is 'The event''s id.';
comment on column svc.console_events.occurred_at is 'When it happened.';
comment on column svc.console_events.event is
    'link_requested, mail_failed, code_rejected, link_locked, code_accepted, signed_in, session_revoked, log_exported,'
    ' call_refused, link_made, token_added, token_revoked, portal_link_made, portal_link_revoked or portal_opened.';
comment on column svc.console_events.session_id is
    'The session, or the one that was asked for; null for one of the application.';
comment on column svc.console_events.email is 'The address.';
comment on column svc.console_events.ip is 'The address of the request.';
comment on column svc.console_events.user_agent is 'The browser''s User-Agent.';
comment on column svc.console_events.detail is 'More: why no mail was sent, who revoked, or the request.';
