-- Refuse a change whose capture would run code of others as a superuser: the function of its trigger belongs to one,
-- because its owner became a superuser, or a superuser became its owner. Given a relation, only if a column of that
-- has a type of others and is not among p_printed, whose values the function prints.
-- access: writer, admin
create or replace function svc.audit_refuse_superuser(
    p_table text, p_relation oid default null, p_printed text[] default '{}'
) returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $svc$
begin
    if p_relation is null
        or exists (select from svc.audit_columns(p_relation) c where c.type is null and c.name <> all (p_printed)) then
        raise exception 'a trigger of svc-pg on "%" belongs to superuser "%", as whom code of others would run',
            p_table, current_user
            using errcode = 'insufficient_privilege',
                  hint = 'Run svc-pg install, which gives it to a role without rights.';
    end if;
end
$svc$;
revoke all on function svc.audit_refuse_superuser(text, oid, text[]) from public;
