-- Tenants: whom the application serves. An application with a table of its own leaves this one empty.
create table svc.tenants (
    id uuid primary key default gen_random_uuid(),
    name text not null check (name = btrim(name) and char_length(name) between 1 and 200),
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now()
);
create unique index tenants_name on svc.tenants (name);

comment on table svc.tenants is 'Tenants, if the application has no table of its own for them.';
comment on column svc.tenants.id is 'The tenant''s id.';
comment on column svc.tenants.name is 'The tenant''s name.';
comment on column svc.tenants.created_at is 'When it was made.';
comment on column svc.tenants.updated_at is 'When it was last changed.';
