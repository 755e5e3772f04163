-- The configuration chooses the indexes of the log, and an install builds them. Here stay those that each log has; one
-- BRIN index of both numbers and the time takes the place of two. In a log that has entries an install does it
-- afterwards, while captures go on.
do $$
begin
    if (select sum(pg_relation_size(i.inhrelid)) from pg_inherits i where i.inhparent = 'svc.audit_logs'::regclass) = 0
    then
        drop index svc.audit_logs_severity, svc.audit_logs_table, svc.audit_logs_actor, svc.audit_logs_id,
                   svc.audit_logs_xact;
        create index audit_logs_order on svc.audit_logs using brin (id, xact_id, "timestamp")
            with (pages_per_range = 32, autosummarize = on);
    end if;
end
$$;
