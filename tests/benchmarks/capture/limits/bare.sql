-- The bare limit: both snapshots in one INSERT, two indexes, nothing else.
create table public.bare_log (
    id bigint generated always as identity primary key,
    written_at timestamptz not null default now(),
    before_data jsonb,
    after_data jsonb
);
create index bare_log_written_at on public.bare_log (written_at);
