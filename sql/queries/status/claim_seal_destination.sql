-- A row if an authority may be asked for a timestamp now: then nobody else may for a while, even if this one is killed
-- meanwhile. A wait of more than two hours is none of ours: a clock was set back, or somebody wrote it.
insert into svc.seal_destinations as d (name, kind, next_at)
values (%(name)s, 'timestamps', clock_timestamp() + %(again)s::interval)
    on conflict (name) do update set next_at = excluded.next_at, seen_at = clock_timestamp()
          where d.next_at is null or d.next_at <= clock_timestamp()
             or d.next_at > clock_timestamp() + interval '2 hours'
returning true as is_claimed
