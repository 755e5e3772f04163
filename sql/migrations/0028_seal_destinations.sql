-- The destinations of copies of the seals outside of the database, so that status and metrics tell if one is behind.
create table svc.seal_destinations (
    name text primary key check (length(name) between 1 and 500),
    last_seal bigint,
    copied_at timestamptz,
    problem text,
    seen_at timestamptz not null default clock_timestamp()
);

comment on table svc.seal_destinations is 'Destinations of copies of the seals, as their writers last told.';
comment on column svc.seal_destinations.name is 'The path of a file or a folder.';
comment on column svc.seal_destinations.last_seal is 'The last seal that is there; null if none is.';
comment on column svc.seal_destinations.copied_at is 'When all seals were last seen to be there; null if never.';
comment on column svc.seal_destinations.problem is 'Why a copy has failed since; null if none has.';
comment on column svc.seal_destinations.seen_at is 'When a writer last told; after 30 days it is forgotten.';
