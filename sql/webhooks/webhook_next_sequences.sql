-- Raise the sequences of keys for the messages of one call, and return each message's: null if it has no key, or was
-- sent before with its idempotency key. Rows are locked in one order, so calls with the same keys wait for each other
-- and do not deadlock.
create or replace function svc.webhook_next_sequences(p_keys text[], p_tenants text[], p_idempotency_keys text[])
returns bigint[]
language plpgsql
set search_path = pg_catalog, pg_temp
as $svc$
declare
    v_sequences bigint[];
begin
    if p_idempotency_keys is not null then
        -- with the locks first, the next statement sees what their last holders sent
        insert into svc.webhook_keys as k (tenant, key, sequence)
        select coalesce(p.tenant, ''), p.key, 0
          from unnest(p_tenants, p_keys) p(tenant, key)
         where p.key is not null
         group by 1, 2 order by 1, 2
        on conflict (tenant, key) do update set sequence = k.sequence;
    end if;
    with candidate as (
        select coalesce(p.tenant, '') as tenant, p.key, p.ordinality,
               p.idempotency_key is null
               or row_number() over (partition by coalesce(p.tenant, ''), p.idempotency_key order by p.ordinality) = 1
               and not exists (
                   select from svc.webhook_messages m
                    where coalesce(m.tenant, '') = coalesce(p.tenant, '') and m.idempotency_key = p.idempotency_key
               ) as is_new
          from unnest(p_tenants, p_idempotency_keys, p_keys)
               with ordinality p(tenant, idempotency_key, key, ordinality)
    ),
    new as materialized (
        select c.tenant, c.key, c.ordinality, row_number() over (partition by c.tenant, c.key order by c.ordinality)
               - count(*) over (partition by c.tenant, c.key) as distance
          from candidate c
         where c.key is not null and c.is_new
    ),
    raised as (
        insert into svc.webhook_keys as k (tenant, key, sequence)
        select n.tenant, n.key, count(*) from new n group by n.tenant, n.key order by n.tenant, n.key
        on conflict (tenant, key) do update set sequence = k.sequence + excluded.sequence
        returning k.tenant, k.key, k.sequence
    )
    select array_agg(r.sequence + n.distance order by p.ordinality)
      into v_sequences
      from unnest(p_keys) with ordinality p(key, ordinality)
      left join new n on n.ordinality = p.ordinality
      left join raised r on r.tenant = n.tenant and r.key = n.key;
    return v_sequences;
end
$svc$;
revoke all on function svc.webhook_next_sequences(text[], text[], text[]) from public;
