-- What an index, a constraint or a column was when it was made, as that PostgreSQL printed it: one of the same name
-- may be another.
alter table svc.installed_inventory
    add definition text,
    add postgres_major integer not null default current_setting('server_version_num')::integer / 10000;
comment on column svc.installed_inventory.definition is 'Its definition, as the catalog printed it.';
comment on column svc.installed_inventory.postgres_major is 'The PostgreSQL that printed it.';
