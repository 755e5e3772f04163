create trigger `shop`.`00_svc_audit_insert_customer` after insert on `shop`.`customer` for each row
svc: begin
-- made by svc-pg from its configuration for shop.customer; change it there
    declare v_last_id bigint unsigned default last_insert_id();
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
        json_object('id', new.`id`, 'name', new.`name`, 'email', new.`email`, 'password_hash', new.`password_hash`, 'card_number', new.`card_number`, 'status', new.`status`, 'credit', new.`credit`, 'settings', new.`settings`),
        null,
        null,
        null, null, null,
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
        json_object('id', old.`id`, 'name', old.`name`, 'email', old.`email`, 'password_hash', old.`password_hash`, 'card_number', old.`card_number`, 'status', old.`status`, 'credit', old.`credit`, 'settings', old.`settings`),
        json_object('id', new.`id`, 'name', new.`name`, 'email', new.`email`, 'password_hash', new.`password_hash`, 'card_number', new.`card_number`, 'status', new.`status`, 'credit', new.`credit`, 'settings', new.`settings`),
        concat('[', v_changed, ']'),
        null,
        null, null, null,
        null
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
        json_object('id', old.`id`, 'name', old.`name`, 'email', old.`email`, 'password_hash', old.`password_hash`, 'card_number', old.`card_number`, 'status', old.`status`, 'credit', old.`credit`, 'settings', old.`settings`),
        null,
        null,
        null,
        null, null, null,
        null
    );
    if last_insert_id() = v_last_id then
        if exists (select 1 from svc.audit_logs where id = 0) then
            signal sqlstate '45000' set mysql_errno = 1231, message_text =
                'svc-pg: the session has set insert_id = 0, which would be the id of an entry; run it again';
        end if;
    end if;
end
