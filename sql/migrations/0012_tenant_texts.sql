-- A tenant's id is a text of the application, the same in entries, messages, endpoints, sessions, tokens and links.
do $svc$
declare
    v_reference record;
begin
    select c.conname, c.conrelid::regclass as relation into v_reference
      from pg_constraint c where c.confrelid = 'svc.tenants'::regclass and c.contype = 'f' order by c.oid limit 1;
    if found then
        raise exception 'the constraint "%" of % refers to svc.tenants, whose ids become texts',
            v_reference.conname, v_reference.relation
            using errcode = 'SV105', hint = format(
                'Drop it, change its column to text, run this again, then add it again: '
                'alter table %s drop constraint %I', v_reference.relation, v_reference.conname);
    end if;
end
$svc$;
alter table svc.tenants
    alter column id drop default,
    alter column id type text using id::text,
    alter column id set default gen_random_uuid()::text,
    add constraint tenants_id_check check (char_length(id) between 1 and 400 and octet_length(id) <= 1024);

comment on table svc.tenants is 'The tenants of the application, if it has no table of its own for them.';
comment on column svc.tenants.id is 'The tenant, as entries, messages, endpoints, sessions, tokens and links name it.';
comment on column svc.tenants.name is 'Its name for people.';
