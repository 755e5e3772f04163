create trigger `shop`.`00_svc_audit_insert_customer` after insert on `shop`.`customer` for each row
svc: begin
-- made by svc-pg from its configuration for shop.customer; change it there
    insert into svc.audit_logs (
        `timestamp`, xact_id, actor_id, tenant_id, db_user, context, table_name, operation, record_id, moved_from,
        before_data, after_data, changed_fields, redacted_fields, label, severity, compliance, description
    ) values (
        utc_timestamp(6) + interval greatest(timestampdiff(microsecond, now(6), sysdate(6)), 0) microsecond,
        @svc_xact_id, left(nullif(@svc_actor_id, ''), 512), left(nullif(@svc_tenant_id, ''), 512), user(),
        if(json_valid(convert(@svc_context using utf8mb4)), convert(@svc_context using utf8mb4),
           json_quote(convert(nullif(@svc_context, '') using utf8mb4))),
        'shop.customer', 'INSERT', cast(new.`id` as char),
        null,
        null,
        json_object('id', new.`id`, 'name', new.`name`, 'email', new.`email`, 'password_hash', new.`password_hash`, 'card_number', new.`card_number`, 'status', new.`status`, 'credit', new.`credit`, 'settings', new.`settings`),
        null,
        null,
        null, null, null,
        null
    );
end

create trigger `shop`.`00_svc_audit_update_customer` after update on `shop`.`customer` for each row
svc: begin
-- made by svc-pg from its configuration for shop.customer; change it there
    declare v_changed longtext character set utf8mb4 collate utf8mb4_bin;
    set v_changed = concat(if(not (cast(old.`card_number` as binary) <=> cast(new.`card_number` as binary)), ', "card_number"', ''),
        if(not (old.`credit` <=> new.`credit`), ', "credit"', ''),
        if(not (cast(old.`email` as binary) <=> cast(new.`email` as binary)), ', "email"', ''),
        if(not (old.`id` <=> new.`id`), ', "id"', ''),
        if(not (cast(old.`name` as binary) <=> cast(new.`name` as binary)), ', "name"', ''),
        if(not (cast(old.`password_hash` as binary) <=> cast(new.`password_hash` as binary)), ', "password_hash"', ''),
        if(not (cast(old.`status` as binary) <=> cast(new.`status` as binary)), ', "status"', ''),
        if(not (cast(old.`settings` as binary) <=> cast(new.`settings` as binary)), ', "settings"', ''));
    if v_changed = '' then
        leave svc;
    end if;
    insert into svc.audit_logs (
        `timestamp`, xact_id, actor_id, tenant_id, db_user, context, table_name, operation, record_id, moved_from,
        before_data, after_data, changed_fields, redacted_fields, label, severity, compliance, description
    ) values (
        utc_timestamp(6) + interval greatest(timestampdiff(microsecond, now(6), sysdate(6)), 0) microsecond,
        @svc_xact_id, left(nullif(@svc_actor_id, ''), 512), left(nullif(@svc_tenant_id, ''), 512), user(),
        if(json_valid(convert(@svc_context using utf8mb4)), convert(@svc_context using utf8mb4),
           json_quote(convert(nullif(@svc_context, '') using utf8mb4))),
        'shop.customer', 'UPDATE', cast(new.`id` as char),
        if(not (old.`id` <=> new.`id`), cast(old.`id` as char), null),
        json_object('id', old.`id`, 'name', old.`name`, 'email', old.`email`, 'password_hash', old.`password_hash`, 'card_number', old.`card_number`, 'status', old.`status`, 'credit', old.`credit`, 'settings', old.`settings`),
        json_object('id', new.`id`, 'name', new.`name`, 'email', new.`email`, 'password_hash', new.`password_hash`, 'card_number', new.`card_number`, 'status', new.`status`, 'credit', new.`credit`, 'settings', new.`settings`),
        concat('[', substr(v_changed, 3), ']'),
        null,
        null, null, null,
        null
    );
end

create trigger `shop`.`00_svc_audit_delete_customer` after delete on `shop`.`customer` for each row
svc: begin
-- made by svc-pg from its configuration for shop.customer; change it there
    insert into svc.audit_logs (
        `timestamp`, xact_id, actor_id, tenant_id, db_user, context, table_name, operation, record_id, moved_from,
        before_data, after_data, changed_fields, redacted_fields, label, severity, compliance, description
    ) values (
        utc_timestamp(6) + interval greatest(timestampdiff(microsecond, now(6), sysdate(6)), 0) microsecond,
        @svc_xact_id, left(nullif(@svc_actor_id, ''), 512), left(nullif(@svc_tenant_id, ''), 512), user(),
        if(json_valid(convert(@svc_context using utf8mb4)), convert(@svc_context using utf8mb4),
           json_quote(convert(nullif(@svc_context, '') using utf8mb4))),
        'shop.customer', 'DELETE', cast(old.`id` as char),
        null,
        json_object('id', old.`id`, 'name', old.`name`, 'email', old.`email`, 'password_hash', old.`password_hash`, 'card_number', old.`card_number`, 'status', old.`status`, 'credit', old.`credit`, 'settings', old.`settings`),
        null,
        null,
        null,
        null, null, null,
        null
    );
end
