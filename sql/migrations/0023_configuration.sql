-- The configuration that was installed, so that a revision of Alembic or Django changes only what it names, and
-- refuses to change what another branch has changed. As json, because the order of keys is part of what was written.
alter table svc.installation add column configuration json;

comment on column svc.installation.configuration is 'The configuration that was installed; null if it is not known.';
