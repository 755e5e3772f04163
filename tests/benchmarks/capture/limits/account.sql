-- The table whose changes every candidate records.
create table public.account (
    id bigint primary key,
    customer_id int not null,
    email text not null,
    name text,
    balance numeric(12, 2) not null default 0,
    status text not null default 'active',
    meta jsonb not null default '{}',
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    note text
);
