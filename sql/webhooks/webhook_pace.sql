-- The attempts that may start now at an endpoint with a rate, and its pace after p_started of them: until when the
-- attempts so far have spent it, and when the next may start. p_spent_until is null if none has started yet.
--
-- The generic cell rate algorithm: attempts are due one after the other at 97 % of the rate, and each may start up to
-- 30 ms before it is due, so that a claim that is a little late loses nothing. As 0.97 * (1 s + 30 ms) is less than
-- 1 s, no more than p_rate start within any second, and no more than 3 % of it, or one, at once. At a high rate a
-- claim starts none until it can start half as many, so that workers need not claim for each.
-- access: reader, admin
create or replace function svc.webhook_pace(
    p_rate integer, p_spent_until timestamptz, p_now timestamptz, p_started integer,
    out startable integer, out spent_until timestamptz, out full_until timestamptz
)
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $svc$
declare
    v_early constant float8 := 0.03; -- seconds
    v_pace constant float8 := 0.97 * p_rate; -- attempts in a second
    v_fewest constant integer := 1 + floor(v_early / 2 * v_pace);
    v_ahead float8; -- seconds from now until the next is due
begin
    -- more than all can have spent was noted before the clock was set back, or at a lower rate
    v_ahead := least(greatest(extract(epoch from p_spent_until - p_now)::float8, 0), v_early + 1 / v_pace);
    startable := floor((v_early - v_ahead) * v_pace) + 1;
    if startable < v_fewest then
        startable := 0;
    end if;
    spent_until := p_now + make_interval(secs => ceil((v_ahead + p_started / v_pace) * 1e6) / 1e6);
    full_until := spent_until + make_interval(secs => ceil(((v_fewest - 1) / v_pace - v_early) * 1e6) / 1e6);
end
$svc$;
revoke all on function svc.webhook_pace(integer, timestamptz, timestamptz, integer) from public;
