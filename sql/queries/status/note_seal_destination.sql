-- Record the state of a destination of seals.
insert into svc.seal_destinations as d (name, kind, last_seal, copied_at, problem, next_at, shown_until)
values (
    %(name)s, %(kind)s, %(last_seal)s, case when %(is_whole)s then clock_timestamp() end, %(problem)s,
    clock_timestamp() + %(wait)s::interval, clock_timestamp() + %(shown_for)s::interval
)
    on conflict (name) do update set last_seal = coalesce(excluded.last_seal, d.last_seal),
       copied_at = coalesce(excluded.copied_at, d.copied_at), problem = excluded.problem, seen_at = clock_timestamp(),
       next_at = coalesce(excluded.next_at, d.next_at), shown_until = greatest(d.shown_until, excluded.shown_until)
