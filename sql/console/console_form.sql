-- Record that a form was sent, for the transaction that changes what it asks for. Returns null if this is the first
-- time in a day, else the answer of then, empty if it has none. A form that is sent twice at a time waits for the
-- first. A session keeps its last 1,000.
-- access: admin
create or replace function svc.console_form(p_digest bytea, p_session_hash bytea) returns text
language plpgsql
set search_path = pg_catalog, pg_temp
as $svc$
declare
    v_answer text;
begin
    insert into svc.console_forms as f (digest, session_hash) values (p_digest, p_session_hash)
    on conflict on constraint console_forms_pkey do update set sent_at = now(), answer = null
     where f.sent_at < now() - interval '1 day';
    if not found then
        select f.answer into v_answer from svc.console_forms f where f.digest = p_digest;
        return coalesce(v_answer, '');
    end if;
    delete from svc.console_forms where digest in (
        select f.digest from svc.console_forms f
         where f.digest = any (array(
                   select o.digest from svc.console_forms o
                    where o.session_hash = p_session_hash order by o.sent_at desc offset 1000
               ))
           for update skip locked  -- of these alone: a row that is skipped by OFFSET would be locked too
    );
    return null;
end
$svc$;
revoke all on function svc.console_form(bytea, bytea) from public;
