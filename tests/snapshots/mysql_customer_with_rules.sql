create trigger `shop`.`00_svc_audit_insert_customer` after insert on `shop`.`customer` for each row
svc: begin
-- made by svc-pg from its configuration for shop.customer; change it there
    declare v_last_id bigint unsigned default last_insert_id();
    declare exit handler for 1062, 1205, 1213, 1231, 1665 resignal;
    declare exit handler for sqlexception
    begin
        declare v_message text;
        get stacked diagnostics condition 1 v_message = message_text;
        set v_message = left(concat('svc-pg: a change is not on record: ', v_message), 128);
        signal sqlstate '01000' set message_text = v_message;
    end;
    if (
        @@insert_id = 0 and @@session.binlog_format <> 'STATEMENT'
        and (@svc_actor_id is null or octet_length(convert(@svc_actor_id using utf8mb4)) between 1 and 512)
        and (@svc_tenant_id is null or octet_length(convert(@svc_tenant_id using utf8mb4)) between 1 and 512)
        and (@svc_context is null
             or octet_length(convert(@svc_context using utf8mb4)) < 65536
                and (octet_length(@svc_context) < 200
                     or octet_length(@svc_context)
                        <= 100 + octet_length(replace(replace(@svc_context, '[', ''), '{', '')))
                and json_valid(@svc_context))
        and @svc_xact_id is null
    ) is not true then
        if @@session.binlog_format = 'STATEMENT' and @@log_bin and @@sql_log_bin then
            signal sqlstate '45000' set mysql_errno = 1665, message_text =
                'svc-pg: binlog_format is STATEMENT, under which replicas would have other entries; set it to ROW';
        end if;
        if @@insert_id <> 0 then
            set insert_id = 1;
            insert into svc.audit_insert_ids (connection_id) values (connection_id());
            delete from svc.audit_insert_ids where connection_id = connection_id();
        end if;
        begin
            declare v_actor_id, v_tenant_id, v_context longtext character set utf8mb4 collate utf8mb4_bin;
            declare v_is_json boolean default false;
            declare continue handler for 1300, 1366, 3157 begin end;
            set v_actor_id = convert(@svc_actor_id using utf8mb4);
            set v_tenant_id = convert(@svc_tenant_id using utf8mb4);
            set v_context = convert(@svc_context using utf8mb4);
            set v_actor_id = coalesce(v_actor_id, concat('\\x', lower(hex(left(@svc_actor_id, 255)))));
            set v_tenant_id = coalesce(v_tenant_id, concat('\\x', lower(hex(left(@svc_tenant_id, 255)))));
            set v_context = coalesce(v_context, concat('\\x', lower(hex(left(@svc_context, 255)))));
            set @svc_actor_id = if(octet_length(v_actor_id) = 0, null,
                if(char_length(v_actor_id) > 512, concat(left(v_actor_id, 511), '…'), v_actor_id));
            set @svc_tenant_id = if(octet_length(v_tenant_id) = 0, null,
                if(char_length(v_tenant_id) > 512, concat(left(v_tenant_id, 511), '…'), v_tenant_id));
            set v_is_json = json_valid(v_context);
            if octet_length(v_context) = 0 then
                set @svc_context = null;
            elseif octet_length(v_context) > 65535 then
                set @svc_context = concat(
                    '{"oversized": true, "bytes": ', octet_length(v_context),
                    ', "sha256": "', sha2(v_context, 256), '"}'
                );
            else
                set @svc_context = if(v_is_json is true, v_context, json_quote(v_context));
            end if;
            set @svc_xact_id = if(convert(@svc_xact_id using utf8mb4) regexp '^[0-9]{1,19}$', @svc_xact_id, null);
        end;
    end if;
    insert into svc.audit_logs (
        `timestamp`, xact_id, actor_id, tenant_id, db_user, context, table_name, operation, record_id, moved_from,
        before_data, after_data, changed_fields, redacted_fields, label, severity, compliance, description
    ) values (
        utc_timestamp(6) + interval if(sysdate(6) between now(6) - interval 1 hour and now(6), 0,
            timestampdiff(microsecond, now(6), sysdate(6))) microsecond,
        @svc_xact_id, convert(@svc_actor_id using utf8mb4), convert(@svc_tenant_id using utf8mb4), user(),
        convert(@svc_context using utf8mb4),
        'shop.customer', 'INSERT', cast(new.`id` as char),
        null,
        null,
        json_object('id', new.`id`, 'name', json_extract(if(octet_length(json_quote(new.`name`)) > 65536, concat('{"oversized": true, "bytes": ', octet_length(json_quote(new.`name`)), ', "sha256": "', sha2(json_quote(new.`name`), 256), '"}'), json_quote(new.`name`)), '$'), 'email', json_extract(if(octet_length(json_quote(new.`email`)) > 65536, concat('{"oversized": true, "bytes": ', octet_length(json_quote(new.`email`)), ', "sha256": "', sha2(json_quote(new.`email`), 256), '"}'), json_quote(new.`email`)), '$'), 'card_number', if(char_length(new.`card_number`) >= 8, concat('****', right(new.`card_number`, 4)), if(new.`card_number` is null, null, '****')), 'status', json_extract(if(octet_length(json_quote(new.`status`)) > 65536, concat('{"oversized": true, "bytes": ', octet_length(json_quote(new.`status`)), ', "sha256": "', sha2(json_quote(new.`status`), 256), '"}'), json_quote(new.`status`)), '$'), 'credit', new.`credit`, 'settings', if(octet_length(cast(new.`settings` as char)) > 65536, cast(concat('{"oversized": true, "bytes": ', octet_length(cast(new.`settings` as char)), ', "sha256": "', sha2(cast(new.`settings` as char), 256), '"}') as json), new.`settings`)),
        null,
        '["card_number", "password_hash"]',
        'customer changed', 'low', null,
        null
    );
    if last_insert_id() = v_last_id then
        if exists (select 1 from svc.audit_logs where id = 0) then
            signal sqlstate '45000' set mysql_errno = 1231, message_text =
                'svc-pg: the session has set insert_id = 0, which would be the id of an entry; run it again';
        end if;
    end if;
end

create trigger `shop`.`00_svc_audit_update_customer` after update on `shop`.`customer` for each row
svc: begin
-- made by svc-pg from its configuration for shop.customer; change it there
    declare v_rule int;
    declare v_last_id bigint unsigned default last_insert_id();
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
    declare exit handler for 1062, 1205, 1213, 1231, 1665 resignal;
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
    if (
        @@insert_id = 0 and @@session.binlog_format <> 'STATEMENT'
        and (@svc_actor_id is null or octet_length(convert(@svc_actor_id using utf8mb4)) between 1 and 512)
        and (@svc_tenant_id is null or octet_length(convert(@svc_tenant_id using utf8mb4)) between 1 and 512)
        and (@svc_context is null
             or octet_length(convert(@svc_context using utf8mb4)) < 65536
                and (octet_length(@svc_context) < 200
                     or octet_length(@svc_context)
                        <= 100 + octet_length(replace(replace(@svc_context, '[', ''), '{', '')))
                and json_valid(@svc_context))
        and @svc_xact_id is null
    ) is not true then
        if @@session.binlog_format = 'STATEMENT' and @@log_bin and @@sql_log_bin then
            signal sqlstate '45000' set mysql_errno = 1665, message_text =
                'svc-pg: binlog_format is STATEMENT, under which replicas would have other entries; set it to ROW';
        end if;
        if @@insert_id <> 0 then
            set insert_id = 1;
            insert into svc.audit_insert_ids (connection_id) values (connection_id());
            delete from svc.audit_insert_ids where connection_id = connection_id();
        end if;
        begin
            declare v_actor_id, v_tenant_id, v_context longtext character set utf8mb4 collate utf8mb4_bin;
            declare v_is_json boolean default false;
            declare continue handler for 1300, 1366, 3157 begin end;
            set v_actor_id = convert(@svc_actor_id using utf8mb4);
            set v_tenant_id = convert(@svc_tenant_id using utf8mb4);
            set v_context = convert(@svc_context using utf8mb4);
            set v_actor_id = coalesce(v_actor_id, concat('\\x', lower(hex(left(@svc_actor_id, 255)))));
            set v_tenant_id = coalesce(v_tenant_id, concat('\\x', lower(hex(left(@svc_tenant_id, 255)))));
            set v_context = coalesce(v_context, concat('\\x', lower(hex(left(@svc_context, 255)))));
            set @svc_actor_id = if(octet_length(v_actor_id) = 0, null,
                if(char_length(v_actor_id) > 512, concat(left(v_actor_id, 511), '…'), v_actor_id));
            set @svc_tenant_id = if(octet_length(v_tenant_id) = 0, null,
                if(char_length(v_tenant_id) > 512, concat(left(v_tenant_id, 511), '…'), v_tenant_id));
            set v_is_json = json_valid(v_context);
            if octet_length(v_context) = 0 then
                set @svc_context = null;
            elseif octet_length(v_context) > 65535 then
                set @svc_context = concat(
                    '{"oversized": true, "bytes": ', octet_length(v_context),
                    ', "sha256": "', sha2(v_context, 256), '"}'
                );
            else
                set @svc_context = if(v_is_json is true, v_context, json_quote(v_context));
            end if;
            set @svc_xact_id = if(convert(@svc_xact_id using utf8mb4) regexp '^[0-9]{1,19}$', @svc_xact_id, null);
        end;
    end if;
    set v_rule = case when ((not (cast(old.`email` as binary) <=> new.`email`)) and not (((coalesce(1 = 1 and cast(new.`status` as binary) = 'test', 1 = 0) or coalesce(1 = 1 and cast(new.`status` as binary) = 'demo', 1 = 0))))) then 0 when ((coalesce(1 = 1 and new.`credit` > 10000, 1 = 0))) then 1 when 1 = 1 then 2 end;
    insert into svc.audit_logs (
        `timestamp`, xact_id, actor_id, tenant_id, db_user, context, table_name, operation, record_id, moved_from,
        before_data, after_data, changed_fields, redacted_fields, label, severity, compliance, description
    ) values (
        utc_timestamp(6) + interval if(sysdate(6) between now(6) - interval 1 hour and now(6), 0,
            timestampdiff(microsecond, now(6), sysdate(6))) microsecond,
        @svc_xact_id, convert(@svc_actor_id using utf8mb4), convert(@svc_tenant_id using utf8mb4), user(),
        convert(@svc_context using utf8mb4),
        'shop.customer', 'UPDATE', cast(new.`id` as char),
        if(not (old.`id` <=> new.`id`), cast(old.`id` as char), null),
        json_object('id', old.`id`, 'name', json_extract(if(octet_length(json_quote(old.`name`)) > 65536, concat('{"oversized": true, "bytes": ', octet_length(json_quote(old.`name`)), ', "sha256": "', sha2(json_quote(old.`name`), 256), '"}'), json_quote(old.`name`)), '$'), 'email', json_extract(if(octet_length(json_quote(old.`email`)) > 65536, concat('{"oversized": true, "bytes": ', octet_length(json_quote(old.`email`)), ', "sha256": "', sha2(json_quote(old.`email`), 256), '"}'), json_quote(old.`email`)), '$'), 'card_number', if(char_length(old.`card_number`) >= 8, concat('****', right(old.`card_number`, 4)), if(old.`card_number` is null, null, '****')), 'status', json_extract(if(octet_length(json_quote(old.`status`)) > 65536, concat('{"oversized": true, "bytes": ', octet_length(json_quote(old.`status`)), ', "sha256": "', sha2(json_quote(old.`status`), 256), '"}'), json_quote(old.`status`)), '$'), 'credit', old.`credit`, 'settings', if(octet_length(cast(old.`settings` as char)) > 65536, cast(concat('{"oversized": true, "bytes": ', octet_length(cast(old.`settings` as char)), ', "sha256": "', sha2(cast(old.`settings` as char), 256), '"}') as json), old.`settings`)),
        json_object('id', new.`id`, 'name', json_extract(if(octet_length(json_quote(new.`name`)) > 65536, concat('{"oversized": true, "bytes": ', octet_length(json_quote(new.`name`)), ', "sha256": "', sha2(json_quote(new.`name`), 256), '"}'), json_quote(new.`name`)), '$'), 'email', json_extract(if(octet_length(json_quote(new.`email`)) > 65536, concat('{"oversized": true, "bytes": ', octet_length(json_quote(new.`email`)), ', "sha256": "', sha2(json_quote(new.`email`), 256), '"}'), json_quote(new.`email`)), '$'), 'card_number', if(char_length(new.`card_number`) >= 8, concat('****', right(new.`card_number`, 4)), if(new.`card_number` is null, null, '****')), 'status', json_extract(if(octet_length(json_quote(new.`status`)) > 65536, concat('{"oversized": true, "bytes": ', octet_length(json_quote(new.`status`)), ', "sha256": "', sha2(json_quote(new.`status`), 256), '"}'), json_quote(new.`status`)), '$'), 'credit', new.`credit`, 'settings', if(octet_length(cast(new.`settings` as char)) > 65536, cast(concat('{"oversized": true, "bytes": ', octet_length(cast(new.`settings` as char)), ', "sha256": "', sha2(cast(new.`settings` as char), 256), '"}') as json), new.`settings`)),
        concat('[', v_changed, ']'),
        '["card_number", "password_hash"]',
        case v_rule when 0 then 'customer edited' when 2 then 'customer changed' end, case v_rule when 0 then 'medium' when 1 then 'high' when 2 then 'low' end, case v_rule when 0 then '["gdpr"]' end,
        case v_rule when 0 then concat(ifnull(convert(@svc_actor_id using utf8mb4), ''), ifnull(' changed email from ', ''), ifnull(if(octet_length(json_quote(old.`email`)) > 65536, concat('{"oversized": true, "bytes": ', octet_length(json_quote(old.`email`)), ', "sha256": "', sha2(json_quote(old.`email`), 256), '"}'), old.`email`), ''), ifnull(' to ', ''), ifnull(if(octet_length(json_quote(new.`email`)) > 65536, concat('{"oversized": true, "bytes": ', octet_length(json_quote(new.`email`)), ', "sha256": "', sha2(json_quote(new.`email`), 256), '"}'), new.`email`), '')) end
    );
    if last_insert_id() = v_last_id then
        if exists (select 1 from svc.audit_logs where id = 0) then
            signal sqlstate '45000' set mysql_errno = 1231, message_text =
                'svc-pg: the session has set insert_id = 0, which would be the id of an entry; run it again';
        end if;
    end if;
end

create trigger `shop`.`00_svc_audit_delete_customer` after delete on `shop`.`customer` for each row
svc: begin
-- made by svc-pg from its configuration for shop.customer; change it there
    declare v_last_id bigint unsigned default last_insert_id();
    declare exit handler for 1062, 1205, 1213, 1231, 1665 resignal;
    declare exit handler for sqlexception
    begin
        declare v_message text;
        get stacked diagnostics condition 1 v_message = message_text;
        set v_message = left(concat('svc-pg: a change is not on record: ', v_message), 128);
        signal sqlstate '01000' set message_text = v_message;
    end;
    if (
        @@insert_id = 0 and @@session.binlog_format <> 'STATEMENT'
        and (@svc_actor_id is null or octet_length(convert(@svc_actor_id using utf8mb4)) between 1 and 512)
        and (@svc_tenant_id is null or octet_length(convert(@svc_tenant_id using utf8mb4)) between 1 and 512)
        and (@svc_context is null
             or octet_length(convert(@svc_context using utf8mb4)) < 65536
                and (octet_length(@svc_context) < 200
                     or octet_length(@svc_context)
                        <= 100 + octet_length(replace(replace(@svc_context, '[', ''), '{', '')))
                and json_valid(@svc_context))
        and @svc_xact_id is null
    ) is not true then
        if @@session.binlog_format = 'STATEMENT' and @@log_bin and @@sql_log_bin then
            signal sqlstate '45000' set mysql_errno = 1665, message_text =
                'svc-pg: binlog_format is STATEMENT, under which replicas would have other entries; set it to ROW';
        end if;
        if @@insert_id <> 0 then
            set insert_id = 1;
            insert into svc.audit_insert_ids (connection_id) values (connection_id());
            delete from svc.audit_insert_ids where connection_id = connection_id();
        end if;
        begin
            declare v_actor_id, v_tenant_id, v_context longtext character set utf8mb4 collate utf8mb4_bin;
            declare v_is_json boolean default false;
            declare continue handler for 1300, 1366, 3157 begin end;
            set v_actor_id = convert(@svc_actor_id using utf8mb4);
            set v_tenant_id = convert(@svc_tenant_id using utf8mb4);
            set v_context = convert(@svc_context using utf8mb4);
            set v_actor_id = coalesce(v_actor_id, concat('\\x', lower(hex(left(@svc_actor_id, 255)))));
            set v_tenant_id = coalesce(v_tenant_id, concat('\\x', lower(hex(left(@svc_tenant_id, 255)))));
            set v_context = coalesce(v_context, concat('\\x', lower(hex(left(@svc_context, 255)))));
            set @svc_actor_id = if(octet_length(v_actor_id) = 0, null,
                if(char_length(v_actor_id) > 512, concat(left(v_actor_id, 511), '…'), v_actor_id));
            set @svc_tenant_id = if(octet_length(v_tenant_id) = 0, null,
                if(char_length(v_tenant_id) > 512, concat(left(v_tenant_id, 511), '…'), v_tenant_id));
            set v_is_json = json_valid(v_context);
            if octet_length(v_context) = 0 then
                set @svc_context = null;
            elseif octet_length(v_context) > 65535 then
                set @svc_context = concat(
                    '{"oversized": true, "bytes": ', octet_length(v_context),
                    ', "sha256": "', sha2(v_context, 256), '"}'
                );
            else
                set @svc_context = if(v_is_json is true, v_context, json_quote(v_context));
            end if;
            set @svc_xact_id = if(convert(@svc_xact_id using utf8mb4) regexp '^[0-9]{1,19}$', @svc_xact_id, null);
        end;
    end if;
    insert into svc.audit_logs (
        `timestamp`, xact_id, actor_id, tenant_id, db_user, context, table_name, operation, record_id, moved_from,
        before_data, after_data, changed_fields, redacted_fields, label, severity, compliance, description
    ) values (
        utc_timestamp(6) + interval if(sysdate(6) between now(6) - interval 1 hour and now(6), 0,
            timestampdiff(microsecond, now(6), sysdate(6))) microsecond,
        @svc_xact_id, convert(@svc_actor_id using utf8mb4), convert(@svc_tenant_id using utf8mb4), user(),
        convert(@svc_context using utf8mb4),
        'shop.customer', 'DELETE', cast(old.`id` as char),
        null,
        json_object('id', old.`id`, 'name', json_extract(if(octet_length(json_quote(old.`name`)) > 65536, concat('{"oversized": true, "bytes": ', octet_length(json_quote(old.`name`)), ', "sha256": "', sha2(json_quote(old.`name`), 256), '"}'), json_quote(old.`name`)), '$'), 'email', json_extract(if(octet_length(json_quote(old.`email`)) > 65536, concat('{"oversized": true, "bytes": ', octet_length(json_quote(old.`email`)), ', "sha256": "', sha2(json_quote(old.`email`), 256), '"}'), json_quote(old.`email`)), '$'), 'card_number', if(char_length(old.`card_number`) >= 8, concat('****', right(old.`card_number`, 4)), if(old.`card_number` is null, null, '****')), 'status', json_extract(if(octet_length(json_quote(old.`status`)) > 65536, concat('{"oversized": true, "bytes": ', octet_length(json_quote(old.`status`)), ', "sha256": "', sha2(json_quote(old.`status`), 256), '"}'), json_quote(old.`status`)), '$'), 'credit', old.`credit`, 'settings', if(octet_length(cast(old.`settings` as char)) > 65536, cast(concat('{"oversized": true, "bytes": ', octet_length(cast(old.`settings` as char)), ', "sha256": "', sha2(cast(old.`settings` as char), 256), '"}') as json), old.`settings`)),
        null,
        null,
        '["card_number", "password_hash"]',
        'customer changed', 'low', null,
        null
    );
    if last_insert_id() = v_last_id then
        if exists (select 1 from svc.audit_logs where id = 0) then
            signal sqlstate '45000' set mysql_errno = 1231, message_text =
                'svc-pg: the session has set insert_id = 0, which would be the id of an entry; run it again';
        end if;
    end if;
end
