-- Why an endpoint fails, beside since when.
alter table svc.webhook_endpoint_state add last_failure text;
comment on column svc.webhook_endpoint_state.last_failure is 'The error of the last failure.';
