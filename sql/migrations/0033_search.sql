-- Payloads are searched by the keys that the configuration names for an event.
alter table svc.webhook_event_types
    add column search text[],
    add column searched_since timestamptz[],
    add column search_changed_in bigint,
    add column search_filled_to uuid;
-- A row for each searched value of a message. Not an index of the payloads: only events with keys pay for it, nothing
-- has to be built in a queue that is in use, and each value leads to its messages from the newest on.
create table svc.webhook_search_values (
    message_id uuid not null,
    digest bytea not null,
    tenant text,
    primary key (message_id, digest)
);
create index webhook_search_values_newest on svc.webhook_search_values (digest, message_id);
-- so that the time that a tenant's question takes follows from that tenant's messages alone
create index webhook_search_values_tenant on svc.webhook_search_values (tenant, digest, message_id)
    where tenant is not null;

comment on column svc.webhook_event_types.search is
    'The keys of the payload that are searched; null if there are none.';
comment on column svc.webhook_event_types.searched_since is
    'For each of them when it became one: messages of before are not found by it. Null if all are.';
comment on column svc.webhook_event_types.search_changed_in is 'Internal: the transaction that changed the keys.';
comment on column svc.webhook_event_types.search_filled_to is
    'Internal: maintenance has made messages up to this one findable by them; null if it has not begun, or has ended.';
comment on table svc.webhook_search_values is
    'Internal: the values by which messages are found, a digest each; they go with their message.';
comment on column svc.webhook_search_values.digest is 'That of svc.webhook_search_digest.';
comment on column svc.webhook_search_values.message_id is 'The message.';
comment on column svc.webhook_search_values.tenant is 'The tenant of the message.';
