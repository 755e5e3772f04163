-- Give entries whose ids svc-pg cannot have given the next free ids, in the order of time, and count on from there.
set @svc_renumber = (select coalesce(max(id), 0) from svc.audit_logs where id between 1 and 9007199254740992);
lock tables svc.audit_logs write, svc.audit_logs as moved write, svc.audit_logs as beyond read;
update svc.audit_logs moved
  join (
      select id, row_number() over (order by `timestamp`, id) as place
        from svc.audit_logs beyond
       where id not between 1 and 9007199254740992
  ) found on found.id = moved.id
   set moved.id = @svc_renumber + found.place;
set @svc_renumber = null;
alter table svc.audit_logs auto_increment = 1;
unlock tables;
