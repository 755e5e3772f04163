-- Record the results of attempts: one call for a batch, arrays of equal length. Returns the ids that were accepted (the
-- others had lost their lease) and the endpoints that were disabled: because they are gone, or failing for 5 days.
-- p_verdicts: delivered, retry, failed, gone (canceled, and its endpoint disabled), or released (not sent: the attempt
-- does not count). p_waits: seconds until the next attempt, for retry and released.
create or replace function svc.webhook_acknowledge(
    p_ids uuid[], p_leases uuid[], p_verdicts text[], p_waits float8[], p_outcomes text[], p_status_codes integer[],
    p_errors text[], p_durations_ms integer[], p_response_headers json[], p_response_bodies text[], p_remote_ips inet[]
) returns table (accepted uuid[], disabled uuid[])
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
declare
    v_gone uuid[];
    v_failing uuid[];
    v_endpoints uuid[];
    v_succeeded boolean[];
    v_failures integer[];
    v_waiting boolean;
begin
    with result as materialized (
        select * from unnest(
            p_ids, p_leases, p_verdicts, p_waits, p_outcomes, p_status_codes,
            p_errors, p_durations_ms, p_response_headers, p_response_bodies, p_remote_ips
        ) as r(
            id, lease_id, verdict, wait, outcome, status_code,
            error, duration_ms, response_headers, response_body, remote_ip
        )
    ),
    done as (
        update svc.webhook_deliveries d
           set status = case r.verdict when 'retry' then 'pending' when 'released' then 'pending'
                                       when 'gone' then 'canceled' else r.verdict end,
               attempts = d.attempts - (r.verdict = 'released')::integer,
               -- the claim cancels what is due at an endpoint that was disabled meanwhile
               next_attempt_at = case r.verdict when 'released' then now() + make_interval(secs => r.wait)
                                                when 'retry' then now() + case when exists (
                   select from svc.webhook_endpoints e where e.id = d.endpoint_id and e.status <> 'disabled'
               ) then make_interval(secs => r.wait) else '0' end end,
               finished_at = case when r.verdict not in ('retry', 'released') then now() end,
               lease_id = null, lease_until = null,
               last_status_code = case when r.verdict = 'released' then d.last_status_code else r.status_code end,
               last_error = case when r.verdict = 'released' then coalesce(r.error, d.last_error) else r.error end,
               updated_at = now()
          from result r
         where d.id = r.id and d.lease_id = r.lease_id
        returning d.id, d.endpoint_id, d.event_name, d.attempts, d.manual_attempt, d.worker, r.verdict, r.outcome, r.status_code,
                  r.error, r.duration_ms, r.response_headers, r.response_body, r.remote_ip
    ),
    attempt as (
        insert into svc.webhook_delivery_attempts (
            delivery_id, endpoint_id, attempt, cause, started_at, duration_ms, outcome,
            status_code, error, response_headers, response_body, remote_ip, worker
        )
        select d.id, d.endpoint_id, d.attempts, svc.webhook_cause(d.event_name, d.attempts = d.manual_attempt),
               now() - make_interval(secs => d.duration_ms / 1000.0), d.duration_ms,
               d.outcome, d.status_code, d.error, d.response_headers, d.response_body, d.remote_ip, d.worker
          from done d where d.verdict <> 'released'
    ),
    health as (
        select d.endpoint_id, bool_or(d.outcome = 'success') as succeeded,
               (count(*) filter (where d.outcome <> 'success'))::integer as failures
          from done d where d.verdict <> 'released'
         group by d.endpoint_id
    )
    select array_agg(h.endpoint_id), array_agg(h.succeeded), array_agg(h.failures),
           (select array_agg(d.id) from done d),
           (select array_agg(distinct d.endpoint_id) filter (where d.verdict = 'gone') from done d),
           (select bool_or(d.verdict in ('retry', 'released')) from done d)
      into v_endpoints, v_succeeded, v_failures, accepted, v_gone, v_waiting
      from health h;

    -- Health only where it changes (a healthy endpoint's success is noted every 10 s), and only of endpoints that nobody
    -- else is changing: what somebody holds in an open transaction does not keep results from being recorded.
    with health as materialized (
        select s.endpoint_id, u.succeeded, u.failures
          from unnest(v_endpoints, v_succeeded, v_failures) u(endpoint_id, succeeded, failures)
          join svc.webhook_endpoint_state s on s.endpoint_id = u.endpoint_id
         where u.failures > 0 or s.failure_streak > 0 or s.breaker_until is not null
            or s.last_success_at is null or s.last_success_at < now() - interval '10 s'
           for no key update of s skip locked
    ),
    changed as (
        update svc.webhook_endpoint_state s
           set last_success_at = case when h.succeeded then now() else s.last_success_at end,
               last_failure_at = case when h.failures > 0 then now() else s.last_failure_at end,
               failing_since = case when not h.succeeded then coalesce(s.failing_since, now()) end,
               failure_streak = case when h.succeeded then 0 else s.failure_streak + h.failures end,
               -- doubles only when the probe of a half-open breaker fails, not with failures that were in flight
               breaker_count = case when h.succeeded then 0
                                    when s.breaker_until <= now() then s.breaker_count + 1
                                    else s.breaker_count end,
               breaker_until = case when h.succeeded then null
                                    when s.breaker_until > now() then s.breaker_until
                                    when s.breaker_until is not null then now() + least(
                                        interval '30 s' * power(2, least(s.breaker_count + 1, 10)), interval '30 min')
                                    when s.failure_streak + h.failures >= 10 then now() + interval '30 s' end
          from health h
         where s.endpoint_id = h.endpoint_id
        returning s.endpoint_id, s.failing_since, s.failure_streak
    )
    select array_agg(c.endpoint_id) into v_failing
      from changed c
     where c.failing_since < now() - interval '5 days' and c.failure_streak >= 10;

    disabled := '{}';
    if v_gone is not null or v_failing is not null then
        disabled := array(
            select o.endpoint_id from (
                select e.endpoint_id, 'the endpoint answered 410 Gone' as reason from unnest(v_gone) e(endpoint_id)
                union all
                select e.endpoint_id, 'no success in 5 days' from unnest(v_failing) e(endpoint_id)
                 where e.endpoint_id <> all (coalesce(v_gone, '{}'))
            ) o
             cross join lateral svc.webhook_disable_by_worker(o.endpoint_id, o.reason) is_disabled
             where is_disabled
        );
    end if;
    if v_waiting then
        perform svc.webhook_notify();
    end if;
    accepted := coalesce(accepted, '{}');
    return next;
end
$svc$;
revoke all on function
    svc.webhook_acknowledge(uuid[], uuid[], text[], float8[], text[], integer[], text[], integer[], json[], text[], inet[])
    from public;
