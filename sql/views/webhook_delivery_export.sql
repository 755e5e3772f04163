-- Deliveries for other programs: the fields of the specification under its names, times in ISO 8601 (UTC).
-- access: reader, admin
create or replace view svc.webhook_delivery_export as
select d.id,
       d.message_id as "messageId",
       d.endpoint_id as "endpointId",
       d.event_name as "eventName",
       d.status,
       d.attempts,
       d.max_attempts as "maxAttempts",
       to_char(d.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "createdAt",
       to_char(d.updated_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "updatedAt",
       to_char(d.next_attempt_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "nextAttemptAt",
       to_char(d.finished_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "finishedAt",
       d.last_status_code as "lastStatusCode",
       d.last_error as "lastError",
       d.failure
  from svc.webhook_deliveries d;
comment on view svc.webhook_delivery_export is
    'Deliveries in the names of the API, with times in ISO 8601: a row for each message and endpoint.';
comment on column svc.webhook_delivery_export.id is
    'The delivery''s id, which receivers get. It grows with time: see svc.uuid7_at.';
comment on column svc.webhook_delivery_export."messageId" is 'The message, which svc.send returned.';
comment on column svc.webhook_delivery_export."endpointId" is 'The endpoint.';
comment on column svc.webhook_delivery_export."eventName" is 'The event.';
comment on column svc.webhook_delivery_export.status is 'pending, delivered, failed or canceled.';
comment on column svc.webhook_delivery_export.attempts is 'The attempts that have ended.';
comment on column svc.webhook_delivery_export."maxAttempts" is 'The attempts after which it fails.';
comment on column svc.webhook_delivery_export."createdAt" is 'When the message was sent: ISO 8601, UTC.';
comment on column svc.webhook_delivery_export."updatedAt" is 'When its state last changed: ISO 8601, UTC.';
comment on column svc.webhook_delivery_export."nextAttemptAt" is 'When it is due, if it is pending: ISO 8601, UTC.';
comment on column svc.webhook_delivery_export."finishedAt" is
    'When it was delivered, failed or was canceled: ISO 8601, UTC.';
comment on column svc.webhook_delivery_export."lastStatusCode" is 'The status that the receiver last answered with.';
comment on column svc.webhook_delivery_export."lastError" is 'Why the last attempt failed.';
comment on column svc.webhook_delivery_export.failure is
    'The status, if it is failed or canceled; null otherwise. Ask for it to find those by an index.';
