-- An event of svc-pg itself: '*' does not subscribe to it, and nobody can send it.
insert into svc.webhook_event_types (name, description, patterns) values (
    'audit.sealed', 'A seal of the audit log was made; the data is a copy of it', '{audit.sealed,audit.*}'
) on conflict (name) do update
   set description = excluded.description, patterns = excluded.patterns, schema = null, synced_at = now();
