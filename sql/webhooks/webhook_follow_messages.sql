-- The searched values of a message go with it, and follow its payload, however somebody deletes or changes it.
-- access: trigger
create or replace function svc.webhook_follow_messages() returns trigger
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $svc$
begin
    if tg_op = 'TRUNCATE' then
        delete from svc.webhook_search_values;
    elsif tg_op = 'DELETE' then
        delete from svc.webhook_search_values s using old_rows o where s.message_id = o.id;
    else
        delete from svc.webhook_search_values s where s.message_id = old.id;
        insert into svc.webhook_search_values (message_id, digest, tenant)
        select new.id, d.digest, new.tenant
          from svc.webhook_event_types t
         cross join unnest(svc.webhook_search_digests(t.search, new.payload)) d(digest)
         where t.name = new.event_name and t.search is not null
        on conflict do nothing; -- those that maintenance has added meanwhile: under REPEATABLE READ 40001
    end if;
    return null;
end
$svc$;
revoke all on function svc.webhook_follow_messages() from public;
