-- Count an event under a key, at most p_limit in a window that begins with the first. Returns null, or the seconds
-- until the next try. A weight of 0 costs the same time and counts nothing.
-- access: admin
create or replace function svc.console_hit(
    p_key text, p_limit integer, p_window interval, p_weight integer default 1
) returns integer
language sql volatile
set search_path = pg_catalog, pg_temp
as $svc$
    insert into svc.console_rate as r (key, hits, ends_at) values (p_key, p_weight, now() + p_window)
    on conflict (key) do update
       set hits = case when r.ends_at <= now() then p_weight else least(r.hits + p_weight, p_limit + 1) end,
           ends_at = case when r.ends_at <= now() then excluded.ends_at else r.ends_at end
    returning case when r.hits > p_limit then greatest(1, ceil(extract(epoch from r.ends_at - now()))::integer) end
$svc$;
revoke all on function svc.console_hit(text, integer, interval, integer) from public;
