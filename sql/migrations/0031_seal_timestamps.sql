-- Timestamps of seals by an authority outside (RFC 3161), and when an authority may be asked again.
create table svc.audit_seal_timestamps (
    seal bigint primary key references svc.audit_seals,
    answer bytea not null check (octet_length(answer) between 1 and 16384),
    added_at timestamptz not null default clock_timestamp()
);

comment on table svc.audit_seal_timestamps is 'Timestamps of seals by an authority outside (RFC 3161).';
comment on column svc.audit_seal_timestamps.seal is 'The seal; its predecessors are covered as well.';
comment on column svc.audit_seal_timestamps.answer is
    'The authority''s answer in DER: a TimeStampResp of the seal''s text.';
comment on column svc.audit_seal_timestamps.added_at is 'When it came, by the clock of this server.';

alter table svc.seal_destinations
    add kind text not null default 'copies' check (kind in ('copies', 'timestamps')),
    add next_at timestamptz;
comment on column svc.seal_destinations.kind is 'Copies in a file or a folder, or timestamps of an authority.';
comment on column svc.seal_destinations.next_at is 'When the authority may be asked again; null if at once.';
comment on column svc.seal_destinations.name is 'The path of a file or a folder, or the host of an authority.';
comment on column svc.seal_destinations.last_seal is
    'The last seal that is there, or that has a timestamp; null if none is.';

alter table svc.audit_verifications
    add timestamps bigint check (timestamps >= 0),
    add unverified_timestamps bigint not null default 0 check (unverified_timestamps >= 0);
comment on column svc.audit_verifications.timestamps is 'The number of good timestamps; null if it verified none.';
comment on column svc.audit_verifications.unverified_timestamps is
    'The number of timestamps that it left unverified, without certificates of the authority.';

alter table svc.seal_destinations add shown_until timestamptz;
comment on column svc.seal_destinations.shown_until is
    'How long it is shown if no writer tells of it again; null as for a worker: two hours after seen_at.';
