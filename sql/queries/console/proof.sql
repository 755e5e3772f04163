select s.number as last_seal, s.sealed_at as last_sealed_at, s.key_id,
       nullif(svc.audit_unsealed_since(), 'infinity') as unsealed_since,
       (select count(*)::integer from (select from svc.audit_holds where lifted_at is null limit 1000) h) as holds
  from (values (1)) v
  left join lateral (select number, sealed_at, key_id from svc.audit_seals order by number desc limit 1) s on true
