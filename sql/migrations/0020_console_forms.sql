-- The forms of the console's pages that were sent, so that one that is sent again changes nothing more.

create table svc.console_forms (
    digest bytea primary key check (octet_length(digest) = 32),
    session_hash bytea not null check (octet_length(session_hash) = 32),
    answer text check (octet_length(answer) <= 16384),
    sent_at timestamptz not null default now()
);
create index console_forms_session on svc.console_forms (session_hash, sent_at);
create index console_forms_sent on svc.console_forms (sent_at);

comment on table svc.console_forms is 'Internal: forms of the console''s pages that were sent, for a day.';
comment on column svc.console_forms.digest is 'The hash of its session, its key, its address and its fields.';
comment on column svc.console_forms.session_hash is 'The hash of the session''s id.';
comment on column svc.console_forms.answer is 'The page to which the form leads, sealed.';
comment on column svc.console_forms.sent_at is 'When it was sent.';
