-- Lease up to p_batch due deliveries and return them, without their bodies; those that had no attempts left fail, and
-- are returned without a lease. Call it outside a longer transaction.
--
-- One claimer at a time (the lock below, about a millisecond), at READ COMMITTED: every statement after it sees all
-- earlier claims, so max_in_flight and the single probe of a half-open breaker are exact. The lock is held until the
-- answer is sent, so the answer is small: with bodies, a frozen worker's full buffers would keep all others from
-- claiming. Windows of endpoints, the first as large as the batch and the others of 64, begin after p_after and go once
-- round until the batch is full, so an empty answer means that nothing can start. The last row's endpoint_id is the
-- next p_after. The planner has no choice (index nested loops, generic plan), so statistics do not matter.
create or replace function svc.webhook_claim(
    p_worker text, p_batch integer, p_after uuid default null,
    p_grace interval default '15 s', p_share integer default 16
) returns table (
    delivery_id uuid, lease_id uuid, attempt integer, max_attempts integer,
    endpoint_id uuid, endpoint_version integer, message_id uuid
)
language plpgsql
set search_path = pg_catalog, pg_temp
set lock_timeout = '5 s'
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set enable_material = off
set plan_cache_mode = force_generic_plan
as $svc$
#variable_conflict use_column
declare
    v_zero constant uuid := '00000000-0000-0000-0000-000000000000'::uuid;
    v_start uuid := coalesce(p_after, v_zero);
    v_now timestamptz;
    v_position uuid := v_start;
    v_window integer := least(p_batch, 64);
    v_wrapped boolean := false;
    v_claimed integer := 0;
    v_rows integer;
    v_endpoints uuid[];
    v_rooms integer[];
    v_closed uuid[];
    v_last uuid;
begin
    if current_setting('transaction_isolation') <> 'read committed' then
        raise exception 'svc.webhook_claim cannot run at the isolation level %', current_setting('transaction_isolation')
            using errcode = 'SV106',
            hint = 'Run the worker as a role of its own, and: alter role ... set default_transaction_isolation = ''read committed''';
    end if;
    if not exists (select from svc.webhook_deliveries d where d.status = 'pending' and d.next_attempt_at <= now()) then
        return;
    end if;
    perform pg_advisory_xact_lock(1937138032, 2);
    v_now := clock_timestamp();  -- a lease does not begin before the wait for the lock
    loop
        -- the next endpoints that have pending deliveries, and how many each may start
        with seen as (
            select r.endpoint_id, r.ordinality,
                   r.next_attempt_at <= v_now and (e.id is null or e.status = 'disabled') as is_closed,
                   case when r.next_attempt_at <= v_now and e.status = 'active'
                             and (s.breaker_until is null or s.breaker_until <= v_now)
                        then case when s.breaker_until is null then e.max_in_flight else 1 end - (
                            select count(*)::integer from svc.webhook_deliveries f
                             where f.endpoint_id = e.id and f.lease_id is not null and f.lease_until > v_now
                        )
                   end as room
              from svc.webhook_endpoints_due(v_position, v_window) r
              left join svc.webhook_endpoints e on e.id = r.endpoint_id
              left join svc.webhook_endpoint_state s on s.endpoint_id = e.id
        )
        select array_agg(s.endpoint_id order by s.ordinality) filter (where s.room > 0),
               array_agg(least(s.room, p_share) order by s.ordinality) filter (where s.room > 0),
               (array_agg(s.endpoint_id order by s.ordinality desc))[1],
               array_agg(s.endpoint_id) filter (where s.is_closed)
          into v_endpoints, v_rooms, v_last, v_closed
          from seen s;
        if v_closed is not null then
            perform svc.webhook_cancel_due(v_closed);
        end if;
        if v_endpoints is not null then
            return query
            with pick as materialized (
                select q.*, o.ordinality
                  from unnest(v_endpoints, v_rooms) with ordinality o(endpoint_id, room, ordinality)
                  join svc.webhook_endpoints e on e.id = o.endpoint_id
                  cross join lateral (
                    select d.id, d.lease_id, d.attempts, d.max_attempts, d.worker, d.endpoint_id, d.updated_at,
                           d.event_name, d.manual_attempt
                      from svc.webhook_deliveries d
                     where d.endpoint_id = o.endpoint_id and d.status = 'pending' and d.next_attempt_at <= v_now
                     order by d.next_attempt_at, d.id limit o.room
                       for update skip locked
                  ) q
                 limit p_batch - v_claimed
            ),
            lost as (
                insert into svc.webhook_delivery_attempts
                    (delivery_id, endpoint_id, attempt, cause, started_at, outcome, error, worker)
                select p.id, p.endpoint_id, p.attempts,
                       svc.webhook_cause(p.event_name, p.attempts = p.manual_attempt), p.updated_at, 'lost',
                       'the lease ended without an acknowledgement', p.worker
                  from pick p where p.lease_id is not null
            ),
            exhausted as (
                update svc.webhook_deliveries d
                   set status = 'failed', finished_at = v_now, next_attempt_at = null, lease_id = null,
                       lease_until = null, last_status_code = null,
                       last_error = 'the last attempt was lost', updated_at = v_now
                  from pick p
                 where d.id = p.id and p.attempts >= p.max_attempts
                returning d.id, d.attempts, d.max_attempts, d.endpoint_id, d.message_id, p.ordinality
            ),
            leased as (
                update svc.webhook_deliveries d
                   set attempts = d.attempts + 1, lease_id = gen_random_uuid(),
                       lease_until = v_now + e.timeout + p_grace, next_attempt_at = v_now + e.timeout + p_grace,
                       worker = p_worker, updated_at = v_now
                  from pick p join svc.webhook_endpoints e on e.id = p.endpoint_id
                 where d.id = p.id and p.attempts < p.max_attempts
                returning d.id, d.lease_id, d.attempts, d.max_attempts, d.endpoint_id, e.version, d.message_id, p.ordinality
            )
            select r.id, r.lease_id, r.attempts, r.max_attempts, r.endpoint_id, r.version, r.message_id
              from (
                select l.id, l.lease_id, l.attempts, l.max_attempts, l.endpoint_id, l.version, l.message_id, l.ordinality
                  from leased l
                union all
                select x.id, null, x.attempts, x.max_attempts, x.endpoint_id, 0, x.message_id, x.ordinality from exhausted x
              ) r
             order by r.ordinality;
            get diagnostics v_rows = row_count;
            v_claimed := v_claimed + v_rows;
            exit when v_claimed >= p_batch;
        end if;
        v_window := 64;
        if v_last is null then
            exit when v_wrapped;
            v_wrapped := true;
            v_position := v_zero;
        else
            v_position := v_last;
        end if;
        exit when v_wrapped and v_position >= v_start;
    end loop;
end
$svc$;
revoke all on function svc.webhook_claim(text, integer, uuid, interval, integer) from public;
