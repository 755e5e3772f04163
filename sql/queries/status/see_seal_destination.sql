-- Record that the writer of a destination of seals is there.
update svc.seal_destinations
   set seen_at = clock_timestamp(), shown_until = greatest(shown_until, clock_timestamp() + %(shown_for)s::interval)
 where name = %(name)s
