insert into svc.installation as i (version, has_roles, access_sha256, configuration, hash_key_sha256)
values (%s, %s, %s, %s, (select encode(sha256(inner_pad || outer_pad), 'hex') from svc.audit_hash_key))
on conflict (is_only) do update
   set version = excluded.version, has_roles = excluded.has_roles, access_sha256 = excluded.access_sha256,
       configuration = excluded.configuration, revision = i.revision + 1
returning revision
