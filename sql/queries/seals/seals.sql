select number, epoch, nullif(epoch_began_at, '-infinity') as epoch_began_at,
       nullif(from_xact_id, -9223372036854775808) as from_xact_id,
       nullif(until_xact_id, 9223372036854775807) as until_xact_id,
       nullif(after_id, -9223372036854775808) as after_id, nullif(until_id, 9223372036854775807) as until_id,
       entries, root, previous, sealed_at, key_id, signature, version
  from svc.audit_seals
