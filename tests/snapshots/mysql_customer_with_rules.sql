create trigger `shop`.`00_svc_audit_insert_customer` after insert on `shop`.`customer` for each row
svc: begin
-- made by svc-pg from its configuration for shop.customer; change it there
    declare exit handler for 1062, 1205, 1213, 1665 resignal;
    declare exit handler for sqlexception
    begin
        declare v_message text;
        get stacked diagnostics condition 1 v_message = message_text;
        set v_message = left(concat('svc-pg: a change is not on record: ', v_message), 128);
        signal sqlstate '01000' set message_text = v_message;
    end;
    if @@session.binlog_format = 'STATEMENT' and @@log_bin and @@sql_log_bin then
        signal sqlstate '45000' set mysql_errno = 1665, message_text =
            'svc-pg: binlog_format is STATEMENT, under which replicas would have other entries; set it to ROW';
    end if;
    if @@insert_id <> 0 then
        set insert_id = 1;
        insert into svc.audit_insert_ids (connection_id) values (connection_id());
        delete from svc.audit_insert_ids where connection_id = connection_id();
    end if;
    insert into svc.audit_logs (
        `timestamp`, xact_id, actor_id, tenant_id, db_user, context, table_name, operation, record_id, moved_from,
        before_data, after_data, changed_fields, redacted_fields, label, severity, compliance, description
    ) values (
        utc_timestamp(6) + interval if(sysdate(6) between now(6) - interval 1 hour and now(6), 0,
            timestampdiff(microsecond, now(6), sysdate(6))) microsecond,
        @svc_xact_id, left(nullif(@svc_actor_id, ''), 512), left(nullif(@svc_tenant_id, ''), 512), user(),
        convert(nullif(@svc_context, '') using utf8mb4),
        'shop.customer', 'INSERT', cast(new.`id` as char),
        null,
        null,
        json_object('id', new.`id`, 'name', json_extract(if(octet_length(json_quote(new.`name`)) > 65536, concat('{"oversized": true, "bytes": ', octet_length(json_quote(new.`name`)), ', "sha256": "', sha2(json_quote(new.`name`), 256), '"}'), json_quote(new.`name`)), '$'), 'email', json_extract(if(octet_length(json_quote(new.`email`)) > 65536, concat('{"oversized": true, "bytes": ', octet_length(json_quote(new.`email`)), ', "sha256": "', sha2(json_quote(new.`email`), 256), '"}'), json_quote(new.`email`)), '$'), 'card_number', if(char_length(new.`card_number`) >= 8, concat('****', right(new.`card_number`, 4)), if(new.`card_number` is null, null, '****')), 'status', json_extract(if(octet_length(json_quote(new.`status`)) > 65536, concat('{"oversized": true, "bytes": ', octet_length(json_quote(new.`status`)), ', "sha256": "', sha2(json_quote(new.`status`), 256), '"}'), json_quote(new.`status`)), '$'), 'credit', new.`credit`, 'settings', if(octet_length(cast(new.`settings` as char)) > 65536, cast(concat('{"oversized": true, "bytes": ', octet_length(cast(new.`settings` as char)), ', "sha256": "', sha2(cast(new.`settings` as char), 256), '"}') as json), new.`settings`)),
        null,
        '["card_number", "password_hash"]',
        'customer changed', 'low', null,
        null
    );
end

create trigger `shop`.`00_svc_audit_update_customer` after update on `shop`.`customer` for each row
svc: begin
-- made by svc-pg from its configuration for shop.customer; change it there
    declare v_rule int;
    declare v_changed longtext character set utf8mb4 collate utf8mb4_bin default concat_ws(', ',
        if(cast(old.`card_number` as binary) <=> new.`card_number`, null, '"card_number"'),
        if(old.`credit` <=> new.`credit`, null, '"credit"'),
        if(cast(old.`email` as binary) <=> new.`email`, null, '"email"'),
        if(old.`id` <=> new.`id`, null, '"id"'),
        if(cast(old.`name` as binary) <=> new.`name`, null, '"name"'),
        if(cast(old.`password_hash` as binary) <=> new.`password_hash`, null, '"password_hash"'),
        if(cast(old.`status` as binary) <=> new.`status`, null, '"status"'),
        if(cast(old.`settings` as binary) <=> cast(new.`settings` as binary), null, '"settings"')
    );
    declare exit handler for 1062, 1205, 1213, 1665 resignal;
    declare exit handler for sqlexception
    begin
        declare v_message text;
        get stacked diagnostics condition 1 v_message = message_text;
        set v_message = left(concat('svc-pg: a change is not on record: ', v_message), 128);
        signal sqlstate '01000' set message_text = v_message;
    end;
    if v_changed = '' then
        leave svc;
    end if;
    if @@session.binlog_format = 'STATEMENT' and @@log_bin and @@sql_log_bin then
        signal sqlstate '45000' set mysql_errno = 1665, message_text =
            'svc-pg: binlog_format is STATEMENT, under which replicas would have other entries; set it to ROW';
    end if;
    if @@insert_id <> 0 then
        set insert_id = 1;
        insert into svc.audit_insert_ids (connection_id) values (connection_id());
        delete from svc.audit_insert_ids where connection_id = connection_id();
    end if;
    set v_rule = case when ((not (cast(old.`email` as binary) <=> new.`email`)) and not (((coalesce(1 = 1 and cast(new.`status` as binary) = 'test', 1 = 0) or coalesce(1 = 1 and cast(new.`status` as binary) = 'demo', 1 = 0))))) then 0 when ((coalesce(1 = 1 and new.`credit` > 10000, 1 = 0))) then 1 when 1 = 1 then 2 end;
    insert into svc.audit_logs (
        `timestamp`, xact_id, actor_id, tenant_id, db_user, context, table_name, operation, record_id, moved_from,
        before_data, after_data, changed_fields, redacted_fields, label, severity, compliance, description
    ) values (
        utc_timestamp(6) + interval if(sysdate(6) between now(6) - interval 1 hour and now(6), 0,
            timestampdiff(microsecond, now(6), sysdate(6))) microsecond,
        @svc_xact_id, left(nullif(@svc_actor_id, ''), 512), left(nullif(@svc_tenant_id, ''), 512), user(),
        convert(nullif(@svc_context, '') using utf8mb4),
        'shop.customer', 'UPDATE', cast(new.`id` as char),
        if(not (old.`id` <=> new.`id`), cast(old.`id` as char), null),
        json_object('id', old.`id`, 'name', json_extract(if(octet_length(json_quote(old.`name`)) > 65536, concat('{"oversized": true, "bytes": ', octet_length(json_quote(old.`name`)), ', "sha256": "', sha2(json_quote(old.`name`), 256), '"}'), json_quote(old.`name`)), '$'), 'email', json_extract(if(octet_length(json_quote(old.`email`)) > 65536, concat('{"oversized": true, "bytes": ', octet_length(json_quote(old.`email`)), ', "sha256": "', sha2(json_quote(old.`email`), 256), '"}'), json_quote(old.`email`)), '$'), 'card_number', if(char_length(old.`card_number`) >= 8, concat('****', right(old.`card_number`, 4)), if(old.`card_number` is null, null, '****')), 'status', json_extract(if(octet_length(json_quote(old.`status`)) > 65536, concat('{"oversized": true, "bytes": ', octet_length(json_quote(old.`status`)), ', "sha256": "', sha2(json_quote(old.`status`), 256), '"}'), json_quote(old.`status`)), '$'), 'credit', old.`credit`, 'settings', if(octet_length(cast(old.`settings` as char)) > 65536, cast(concat('{"oversized": true, "bytes": ', octet_length(cast(old.`settings` as char)), ', "sha256": "', sha2(cast(old.`settings` as char), 256), '"}') as json), old.`settings`)),
        json_object('id', new.`id`, 'name', json_extract(if(octet_length(json_quote(new.`name`)) > 65536, concat('{"oversized": true, "bytes": ', octet_length(json_quote(new.`name`)), ', "sha256": "', sha2(json_quote(new.`name`), 256), '"}'), json_quote(new.`name`)), '$'), 'email', json_extract(if(octet_length(json_quote(new.`email`)) > 65536, concat('{"oversized": true, "bytes": ', octet_length(json_quote(new.`email`)), ', "sha256": "', sha2(json_quote(new.`email`), 256), '"}'), json_quote(new.`email`)), '$'), 'card_number', if(char_length(new.`card_number`) >= 8, concat('****', right(new.`card_number`, 4)), if(new.`card_number` is null, null, '****')), 'status', json_extract(if(octet_length(json_quote(new.`status`)) > 65536, concat('{"oversized": true, "bytes": ', octet_length(json_quote(new.`status`)), ', "sha256": "', sha2(json_quote(new.`status`), 256), '"}'), json_quote(new.`status`)), '$'), 'credit', new.`credit`, 'settings', if(octet_length(cast(new.`settings` as char)) > 65536, cast(concat('{"oversized": true, "bytes": ', octet_length(cast(new.`settings` as char)), ', "sha256": "', sha2(cast(new.`settings` as char), 256), '"}') as json), new.`settings`)),
        concat('[', v_changed, ']'),
        '["card_number", "password_hash"]',
        case v_rule when 0 then 'customer edited' when 2 then 'customer changed' end, case v_rule when 0 then 'medium' when 1 then 'high' when 2 then 'low' end, case v_rule when 0 then '["gdpr"]' end,
        case v_rule when 0 then concat(ifnull(nullif(@svc_actor_id, ''), ''), ifnull(' changed email from ', ''), ifnull(if(octet_length(json_quote(old.`email`)) > 65536, concat('{"oversized": true, "bytes": ', octet_length(json_quote(old.`email`)), ', "sha256": "', sha2(json_quote(old.`email`), 256), '"}'), old.`email`), ''), ifnull(' to ', ''), ifnull(if(octet_length(json_quote(new.`email`)) > 65536, concat('{"oversized": true, "bytes": ', octet_length(json_quote(new.`email`)), ', "sha256": "', sha2(json_quote(new.`email`), 256), '"}'), new.`email`), '')) end
    );
end

create trigger `shop`.`00_svc_audit_delete_customer` after delete on `shop`.`customer` for each row
svc: begin
-- made by svc-pg from its configuration for shop.customer; change it there
    declare exit handler for 1062, 1205, 1213, 1665 resignal;
    declare exit handler for sqlexception
    begin
        declare v_message text;
        get stacked diagnostics condition 1 v_message = message_text;
        set v_message = left(concat('svc-pg: a change is not on record: ', v_message), 128);
        signal sqlstate '01000' set message_text = v_message;
    end;
    if @@session.binlog_format = 'STATEMENT' and @@log_bin and @@sql_log_bin then
        signal sqlstate '45000' set mysql_errno = 1665, message_text =
            'svc-pg: binlog_format is STATEMENT, under which replicas would have other entries; set it to ROW';
    end if;
    if @@insert_id <> 0 then
        set insert_id = 1;
        insert into svc.audit_insert_ids (connection_id) values (connection_id());
        delete from svc.audit_insert_ids where connection_id = connection_id();
    end if;
    insert into svc.audit_logs (
        `timestamp`, xact_id, actor_id, tenant_id, db_user, context, table_name, operation, record_id, moved_from,
        before_data, after_data, changed_fields, redacted_fields, label, severity, compliance, description
    ) values (
        utc_timestamp(6) + interval if(sysdate(6) between now(6) - interval 1 hour and now(6), 0,
            timestampdiff(microsecond, now(6), sysdate(6))) microsecond,
        @svc_xact_id, left(nullif(@svc_actor_id, ''), 512), left(nullif(@svc_tenant_id, ''), 512), user(),
        convert(nullif(@svc_context, '') using utf8mb4),
        'shop.customer', 'DELETE', cast(old.`id` as char),
        null,
        json_object('id', old.`id`, 'name', json_extract(if(octet_length(json_quote(old.`name`)) > 65536, concat('{"oversized": true, "bytes": ', octet_length(json_quote(old.`name`)), ', "sha256": "', sha2(json_quote(old.`name`), 256), '"}'), json_quote(old.`name`)), '$'), 'email', json_extract(if(octet_length(json_quote(old.`email`)) > 65536, concat('{"oversized": true, "bytes": ', octet_length(json_quote(old.`email`)), ', "sha256": "', sha2(json_quote(old.`email`), 256), '"}'), json_quote(old.`email`)), '$'), 'card_number', if(char_length(old.`card_number`) >= 8, concat('****', right(old.`card_number`, 4)), if(old.`card_number` is null, null, '****')), 'status', json_extract(if(octet_length(json_quote(old.`status`)) > 65536, concat('{"oversized": true, "bytes": ', octet_length(json_quote(old.`status`)), ', "sha256": "', sha2(json_quote(old.`status`), 256), '"}'), json_quote(old.`status`)), '$'), 'credit', old.`credit`, 'settings', if(octet_length(cast(old.`settings` as char)) > 65536, cast(concat('{"oversized": true, "bytes": ', octet_length(cast(old.`settings` as char)), ', "sha256": "', sha2(cast(old.`settings` as char), 256), '"}') as json), old.`settings`)),
        null,
        null,
        '["card_number", "password_hash"]',
        'customer changed', 'low', null,
        null
    );
end
