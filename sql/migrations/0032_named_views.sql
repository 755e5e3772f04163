-- Questions to the lists of the console that are kept under a name, by a person or for the team.
create table svc.console_views (
    id uuid primary key,
    list text not null check (list in ('audit', 'deliveries', 'messages', 'endpoints')),
    owner text check (char_length(owner) between 1 and 512),
    name text not null check (name = btrim(name) and char_length(name) between 1 and 60),
    question text not null check (char_length(question) between 1 and 2000),
    created_at timestamptz not null default now(),
    created_by text not null,
    updated_at timestamptz not null default now(),
    updated_by text not null
);
create unique index console_views_name on svc.console_views (coalesce(owner, ''), list, name);

comment on table svc.console_views is 'Internal: questions to the lists of the console that are kept under a name.';
comment on column svc.console_views.id is 'The id of the view.';
comment on column svc.console_views.list is 'The list: audit, deliveries, messages or endpoints.';
comment on column svc.console_views.owner is 'The person whose own it is; null: the team''s.';
comment on column svc.console_views.name is 'Its name, which is one of the list and the owner.';
comment on column svc.console_views.question is 'The question as its text.';
comment on column svc.console_views.created_at is 'When it was made.';
comment on column svc.console_views.created_by is 'The actor that made it.';
comment on column svc.console_views.updated_at is 'When it was last changed.';
comment on column svc.console_views.updated_by is 'The actor that last changed it.';

-- Valid at once: the lock stays until the end of the migration anyway, and old events are deleted.
alter table svc.console_events
    drop constraint console_events_event_check,
    -- squawk-ignore constraint-missing-not-valid
    add constraint console_events_event_check check (event in (
        'link_requested', 'mail_failed', 'code_rejected', 'link_locked', 'code_accepted', 'signed_in',
        'session_revoked', 'log_exported', 'call_refused', 'link_made', 'token_added', 'token_revoked',
        'portal_link_made', 'portal_link_revoked', 'portal_opened', 'view_added', 'view_changed', 'view_deleted'
    ));
comment on table svc.console_events is
    'The events of the console: sign-ins, exports, refused calls, and changes of tokens and of the team''s views.';
comment on column svc.console_events.event is
    'link_requested, mail_failed, code_rejected, link_locked, code_accepted, signed_in, session_revoked, log_exported,'
    ' call_refused, link_made, token_added, token_revoked, portal_link_made, portal_link_revoked, portal_opened,'
    ' view_added, view_changed or view_deleted.';
