-- Seals of an epoch follow each other, so the first one that ends after the entry is its own, or there is none
{seals}
 where number = (
    select s.number
      from svc.audit_logs l
     cross join lateral (
        select s.number, s.from_xact_id
          from svc.audit_seals s
         where s.epoch_began_at = (
                select max(e.began_at) from ({epochs}) e where e.began_at <= l."timestamp"
            )
           and s.version = 2 and s.until_xact_id > l.xact_id and s.until_id >= l.id and s.after_id < l.id
         order by s.until_xact_id, s.number
         limit 1
      ) s
     where l."timestamp" = coalesce(%(time)s::timestamptz, (select svc.audit_entry_time(%(id)s)))
       and l.id = %(id)s and s.from_xact_id <= l.xact_id
     limit 1
 )
