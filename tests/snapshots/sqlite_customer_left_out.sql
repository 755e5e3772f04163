create trigger main."00_svc_audit_before_insert_customer" before insert on "customer"
    when (
        exists (select 1 from "customer" victim where (victim."email" = new."email" collate "NOCASE"))
        or exists (select 1 from "customer" victim where (victim."id" = new."id" collate "BINARY") and (victim."email" = new."email" collate "NOCASE") is not true)
        or exists (select 1 from svc_audit_replaced where table_name = 'main.customer')
    )
begin
-- made by svc-pg from its configuration for main.customer; change it there
    delete from svc_audit_replaced
     where table_name = 'main.customer' and conflict in ('INSERT 0:' || quote(new."email"), 'INSERT 1:' || quote(new."id"));
    -- rows that IGNORE kept, and of which nothing was heard since
    delete from svc_audit_replaced where seq <= (select max(seq) - 100 from svc_audit_replaced);
    insert into svc_audit_replaced (
        table_name, conflict, record_id, actor_id, tenant_id, context, before_data,
        redacted_fields, label, severity, compliance, description
    )
    select 'main.customer', case when new."id" <> -1 and (victim."id" = new."id" collate "BINARY") then 'INSERT 1:' || quote(new."id") when (victim."email" = new."email" collate "NOCASE") then 'INSERT 0:' || quote(new."email") when (victim."id" = new."id" collate "BINARY") then 'INSERT 1:' || quote(new."id") end, case typeof(victim."id") when 'real' then case when abs(victim."id") > 1.7976931348623157e308 then iif(victim."id" > 0, 'Infinity', '-Infinity') when cast(format('%!.15g', victim."id") as real) = victim."id" then format('%!.15g', victim."id") else format('%!.17g', victim."id") end when 'blob' then '\x' || lower(hex(victim."id")) else cast(victim."id" as text) end,
           printf() ->> 'actor_id', printf() ->> 'tenant_id', nullif(printf() -> 'context', 'null'), json_object('id', case typeof(victim."id") when 'text' then victim."id" || '' when 'real' then case when abs(victim."id") > 1.7976931348623157e308 then iif(victim."id" > 0, 'Infinity', '-Infinity') when cast(format('%!.15g', victim."id") as real) = victim."id" then victim."id" else json(format('%!.17g', victim."id")) end when 'blob' then '\x' || lower(hex(victim."id")) else victim."id" end,
               'name', case typeof(victim."name") when 'text' then victim."name" || '' when 'real' then case when abs(victim."name") > 1.7976931348623157e308 then iif(victim."name" > 0, 'Infinity', '-Infinity') when cast(format('%!.15g', victim."name") as real) = victim."name" then victim."name" else json(format('%!.17g', victim."name")) end when 'blob' then '\x' || lower(hex(victim."name")) else victim."name" end,
               'email', case typeof(victim."email") when 'text' then victim."email" || '' when 'real' then case when abs(victim."email") > 1.7976931348623157e308 then iif(victim."email" > 0, 'Infinity', '-Infinity') when cast(format('%!.15g', victim."email") as real) = victim."email" then victim."email" else json(format('%!.17g', victim."email")) end when 'blob' then '\x' || lower(hex(victim."email")) else victim."email" end,
               'password_hash', case typeof(victim."password_hash") when 'text' then victim."password_hash" || '' when 'real' then case when abs(victim."password_hash") > 1.7976931348623157e308 then iif(victim."password_hash" > 0, 'Infinity', '-Infinity') when cast(format('%!.15g', victim."password_hash") as real) = victim."password_hash" then victim."password_hash" else json(format('%!.17g', victim."password_hash")) end when 'blob' then '\x' || lower(hex(victim."password_hash")) else victim."password_hash" end,
               'card_number', case typeof(victim."card_number") when 'text' then victim."card_number" || '' when 'real' then case when abs(victim."card_number") > 1.7976931348623157e308 then iif(victim."card_number" > 0, 'Infinity', '-Infinity') when cast(format('%!.15g', victim."card_number") as real) = victim."card_number" then victim."card_number" else json(format('%!.17g', victim."card_number")) end when 'blob' then '\x' || lower(hex(victim."card_number")) else victim."card_number" end,
               'status', case typeof(victim."status") when 'text' then victim."status" || '' when 'real' then case when abs(victim."status") > 1.7976931348623157e308 then iif(victim."status" > 0, 'Infinity', '-Infinity') when cast(format('%!.15g', victim."status") as real) = victim."status" then victim."status" else json(format('%!.17g', victim."status")) end when 'blob' then '\x' || lower(hex(victim."status")) else victim."status" end,
               'credit', case typeof(victim."credit") when 'text' then victim."credit" || '' when 'real' then case when abs(victim."credit") > 1.7976931348623157e308 then iif(victim."credit" > 0, 'Infinity', '-Infinity') when cast(format('%!.15g', victim."credit") as real) = victim."credit" then victim."credit" else json(format('%!.17g', victim."credit")) end when 'blob' then '\x' || lower(hex(victim."credit")) else victim."credit" end,
               'settings', case when typeof(victim."settings") = 'text' and json_valid(victim."settings") then json(victim."settings") else case typeof(victim."settings") when 'text' then victim."settings" || '' when 'real' then case when abs(victim."settings") > 1.7976931348623157e308 then iif(victim."settings" > 0, 'Infinity', '-Infinity') when cast(format('%!.15g', victim."settings") as real) = victim."settings" then victim."settings" else json(format('%!.17g', victim."settings")) end when 'blob' then '\x' || lower(hex(victim."settings")) else victim."settings" end end),
           null,
           null, null, null,
           null
      from "customer" victim
     where (victim."email" = new."email" collate "NOCASE") and ((((coalesce(typeof(victim."status") in ('text', 'blob') and case typeof(victim."status") when 'blob' then '\x' || lower(hex(victim."status")) else victim."status" end = 'live', 1 = 0))) or (1 = 0)));
    insert into svc_audit_replaced (
        table_name, conflict, record_id, actor_id, tenant_id, context, before_data,
        redacted_fields, label, severity, compliance, description
    )
    select 'main.customer', case when new."id" <> -1 and (victim."id" = new."id" collate "BINARY") then 'INSERT 1:' || quote(new."id") when (victim."email" = new."email" collate "NOCASE") then 'INSERT 0:' || quote(new."email") when (victim."id" = new."id" collate "BINARY") then 'INSERT 1:' || quote(new."id") end, case typeof(victim."id") when 'real' then case when abs(victim."id") > 1.7976931348623157e308 then iif(victim."id" > 0, 'Infinity', '-Infinity') when cast(format('%!.15g', victim."id") as real) = victim."id" then format('%!.15g', victim."id") else format('%!.17g', victim."id") end when 'blob' then '\x' || lower(hex(victim."id")) else cast(victim."id" as text) end,
           printf() ->> 'actor_id', printf() ->> 'tenant_id', nullif(printf() -> 'context', 'null'), json_object('id', case typeof(victim."id") when 'text' then victim."id" || '' when 'real' then case when abs(victim."id") > 1.7976931348623157e308 then iif(victim."id" > 0, 'Infinity', '-Infinity') when cast(format('%!.15g', victim."id") as real) = victim."id" then victim."id" else json(format('%!.17g', victim."id")) end when 'blob' then '\x' || lower(hex(victim."id")) else victim."id" end,
               'name', case typeof(victim."name") when 'text' then victim."name" || '' when 'real' then case when abs(victim."name") > 1.7976931348623157e308 then iif(victim."name" > 0, 'Infinity', '-Infinity') when cast(format('%!.15g', victim."name") as real) = victim."name" then victim."name" else json(format('%!.17g', victim."name")) end when 'blob' then '\x' || lower(hex(victim."name")) else victim."name" end,
               'email', case typeof(victim."email") when 'text' then victim."email" || '' when 'real' then case when abs(victim."email") > 1.7976931348623157e308 then iif(victim."email" > 0, 'Infinity', '-Infinity') when cast(format('%!.15g', victim."email") as real) = victim."email" then victim."email" else json(format('%!.17g', victim."email")) end when 'blob' then '\x' || lower(hex(victim."email")) else victim."email" end,
               'password_hash', case typeof(victim."password_hash") when 'text' then victim."password_hash" || '' when 'real' then case when abs(victim."password_hash") > 1.7976931348623157e308 then iif(victim."password_hash" > 0, 'Infinity', '-Infinity') when cast(format('%!.15g', victim."password_hash") as real) = victim."password_hash" then victim."password_hash" else json(format('%!.17g', victim."password_hash")) end when 'blob' then '\x' || lower(hex(victim."password_hash")) else victim."password_hash" end,
               'card_number', case typeof(victim."card_number") when 'text' then victim."card_number" || '' when 'real' then case when abs(victim."card_number") > 1.7976931348623157e308 then iif(victim."card_number" > 0, 'Infinity', '-Infinity') when cast(format('%!.15g', victim."card_number") as real) = victim."card_number" then victim."card_number" else json(format('%!.17g', victim."card_number")) end when 'blob' then '\x' || lower(hex(victim."card_number")) else victim."card_number" end,
               'status', case typeof(victim."status") when 'text' then victim."status" || '' when 'real' then case when abs(victim."status") > 1.7976931348623157e308 then iif(victim."status" > 0, 'Infinity', '-Infinity') when cast(format('%!.15g', victim."status") as real) = victim."status" then victim."status" else json(format('%!.17g', victim."status")) end when 'blob' then '\x' || lower(hex(victim."status")) else victim."status" end,
               'credit', case typeof(victim."credit") when 'text' then victim."credit" || '' when 'real' then case when abs(victim."credit") > 1.7976931348623157e308 then iif(victim."credit" > 0, 'Infinity', '-Infinity') when cast(format('%!.15g', victim."credit") as real) = victim."credit" then victim."credit" else json(format('%!.17g', victim."credit")) end when 'blob' then '\x' || lower(hex(victim."credit")) else victim."credit" end,
               'settings', case when typeof(victim."settings") = 'text' and json_valid(victim."settings") then json(victim."settings") else case typeof(victim."settings") when 'text' then victim."settings" || '' when 'real' then case when abs(victim."settings") > 1.7976931348623157e308 then iif(victim."settings" > 0, 'Infinity', '-Infinity') when cast(format('%!.15g', victim."settings") as real) = victim."settings" then victim."settings" else json(format('%!.17g', victim."settings")) end when 'blob' then '\x' || lower(hex(victim."settings")) else victim."settings" end end),
           null,
           null, null, null,
           null
      from "customer" victim
     where (victim."id" = new."id" collate "BINARY") and (victim."email" = new."email" collate "NOCASE") is not true and ((((coalesce(typeof(victim."status") in ('text', 'blob') and case typeof(victim."status") when 'blob' then '\x' || lower(hex(victim."status")) else victim."status" end = 'live', 1 = 0))) or (1 = 0)));
end;

create trigger main."00_svc_audit_before_update_customer" before update of "email", "id", "rowid", "_rowid_", "oid" on "customer"
    when (old."email" is not new."email" collate binary or old."id" is not new."id" collate binary) and (
        exists (select 1 from "customer" victim where (victim."email" = new."email" collate "NOCASE") and (victim."id" is not old."id"))
        or exists (select 1 from "customer" victim where (victim."id" = new."id" collate "BINARY") and (victim."email" = new."email" collate "NOCASE") is not true and (victim."id" is not old."id"))
        or exists (select 1 from svc_audit_replaced where table_name = 'main.customer')
    )
begin
-- made by svc-pg from its configuration for main.customer; change it there
    delete from svc_audit_replaced
     where table_name = 'main.customer' and conflict in ('UPDATE 0:' || quote(new."email"), 'UPDATE 1:' || quote(new."id"));
    -- rows that IGNORE kept, and of which nothing was heard since
    delete from svc_audit_replaced where seq <= (select max(seq) - 100 from svc_audit_replaced);
    insert into svc_audit_replaced (
        table_name, conflict, record_id, actor_id, tenant_id, context, before_data,
        redacted_fields, label, severity, compliance, description
    )
    select 'main.customer', case when new."id" <> -1 and (victim."id" = new."id" collate "BINARY") then 'UPDATE 1:' || quote(new."id") when (victim."email" = new."email" collate "NOCASE") then 'UPDATE 0:' || quote(new."email") when (victim."id" = new."id" collate "BINARY") then 'UPDATE 1:' || quote(new."id") end, case typeof(victim."id") when 'real' then case when abs(victim."id") > 1.7976931348623157e308 then iif(victim."id" > 0, 'Infinity', '-Infinity') when cast(format('%!.15g', victim."id") as real) = victim."id" then format('%!.15g', victim."id") else format('%!.17g', victim."id") end when 'blob' then '\x' || lower(hex(victim."id")) else cast(victim."id" as text) end,
           printf() ->> 'actor_id', printf() ->> 'tenant_id', nullif(printf() -> 'context', 'null'), json_object('id', case typeof(victim."id") when 'text' then victim."id" || '' when 'real' then case when abs(victim."id") > 1.7976931348623157e308 then iif(victim."id" > 0, 'Infinity', '-Infinity') when cast(format('%!.15g', victim."id") as real) = victim."id" then victim."id" else json(format('%!.17g', victim."id")) end when 'blob' then '\x' || lower(hex(victim."id")) else victim."id" end,
               'name', case typeof(victim."name") when 'text' then victim."name" || '' when 'real' then case when abs(victim."name") > 1.7976931348623157e308 then iif(victim."name" > 0, 'Infinity', '-Infinity') when cast(format('%!.15g', victim."name") as real) = victim."name" then victim."name" else json(format('%!.17g', victim."name")) end when 'blob' then '\x' || lower(hex(victim."name")) else victim."name" end,
               'email', case typeof(victim."email") when 'text' then victim."email" || '' when 'real' then case when abs(victim."email") > 1.7976931348623157e308 then iif(victim."email" > 0, 'Infinity', '-Infinity') when cast(format('%!.15g', victim."email") as real) = victim."email" then victim."email" else json(format('%!.17g', victim."email")) end when 'blob' then '\x' || lower(hex(victim."email")) else victim."email" end,
               'password_hash', case typeof(victim."password_hash") when 'text' then victim."password_hash" || '' when 'real' then case when abs(victim."password_hash") > 1.7976931348623157e308 then iif(victim."password_hash" > 0, 'Infinity', '-Infinity') when cast(format('%!.15g', victim."password_hash") as real) = victim."password_hash" then victim."password_hash" else json(format('%!.17g', victim."password_hash")) end when 'blob' then '\x' || lower(hex(victim."password_hash")) else victim."password_hash" end,
               'card_number', case typeof(victim."card_number") when 'text' then victim."card_number" || '' when 'real' then case when abs(victim."card_number") > 1.7976931348623157e308 then iif(victim."card_number" > 0, 'Infinity', '-Infinity') when cast(format('%!.15g', victim."card_number") as real) = victim."card_number" then victim."card_number" else json(format('%!.17g', victim."card_number")) end when 'blob' then '\x' || lower(hex(victim."card_number")) else victim."card_number" end,
               'status', case typeof(victim."status") when 'text' then victim."status" || '' when 'real' then case when abs(victim."status") > 1.7976931348623157e308 then iif(victim."status" > 0, 'Infinity', '-Infinity') when cast(format('%!.15g', victim."status") as real) = victim."status" then victim."status" else json(format('%!.17g', victim."status")) end when 'blob' then '\x' || lower(hex(victim."status")) else victim."status" end,
               'credit', case typeof(victim."credit") when 'text' then victim."credit" || '' when 'real' then case when abs(victim."credit") > 1.7976931348623157e308 then iif(victim."credit" > 0, 'Infinity', '-Infinity') when cast(format('%!.15g', victim."credit") as real) = victim."credit" then victim."credit" else json(format('%!.17g', victim."credit")) end when 'blob' then '\x' || lower(hex(victim."credit")) else victim."credit" end,
               'settings', case when typeof(victim."settings") = 'text' and json_valid(victim."settings") then json(victim."settings") else case typeof(victim."settings") when 'text' then victim."settings" || '' when 'real' then case when abs(victim."settings") > 1.7976931348623157e308 then iif(victim."settings" > 0, 'Infinity', '-Infinity') when cast(format('%!.15g', victim."settings") as real) = victim."settings" then victim."settings" else json(format('%!.17g', victim."settings")) end when 'blob' then '\x' || lower(hex(victim."settings")) else victim."settings" end end),
           null,
           null, null, null,
           null
      from "customer" victim
     where (victim."email" = new."email" collate "NOCASE") and (victim."id" is not old."id") and ((((coalesce(typeof(victim."status") in ('text', 'blob') and case typeof(victim."status") when 'blob' then '\x' || lower(hex(victim."status")) else victim."status" end = 'live', 1 = 0))) or (1 = 0)));
    insert into svc_audit_replaced (
        table_name, conflict, record_id, actor_id, tenant_id, context, before_data,
        redacted_fields, label, severity, compliance, description
    )
    select 'main.customer', case when new."id" <> -1 and (victim."id" = new."id" collate "BINARY") then 'UPDATE 1:' || quote(new."id") when (victim."email" = new."email" collate "NOCASE") then 'UPDATE 0:' || quote(new."email") when (victim."id" = new."id" collate "BINARY") then 'UPDATE 1:' || quote(new."id") end, case typeof(victim."id") when 'real' then case when abs(victim."id") > 1.7976931348623157e308 then iif(victim."id" > 0, 'Infinity', '-Infinity') when cast(format('%!.15g', victim."id") as real) = victim."id" then format('%!.15g', victim."id") else format('%!.17g', victim."id") end when 'blob' then '\x' || lower(hex(victim."id")) else cast(victim."id" as text) end,
           printf() ->> 'actor_id', printf() ->> 'tenant_id', nullif(printf() -> 'context', 'null'), json_object('id', case typeof(victim."id") when 'text' then victim."id" || '' when 'real' then case when abs(victim."id") > 1.7976931348623157e308 then iif(victim."id" > 0, 'Infinity', '-Infinity') when cast(format('%!.15g', victim."id") as real) = victim."id" then victim."id" else json(format('%!.17g', victim."id")) end when 'blob' then '\x' || lower(hex(victim."id")) else victim."id" end,
               'name', case typeof(victim."name") when 'text' then victim."name" || '' when 'real' then case when abs(victim."name") > 1.7976931348623157e308 then iif(victim."name" > 0, 'Infinity', '-Infinity') when cast(format('%!.15g', victim."name") as real) = victim."name" then victim."name" else json(format('%!.17g', victim."name")) end when 'blob' then '\x' || lower(hex(victim."name")) else victim."name" end,
               'email', case typeof(victim."email") when 'text' then victim."email" || '' when 'real' then case when abs(victim."email") > 1.7976931348623157e308 then iif(victim."email" > 0, 'Infinity', '-Infinity') when cast(format('%!.15g', victim."email") as real) = victim."email" then victim."email" else json(format('%!.17g', victim."email")) end when 'blob' then '\x' || lower(hex(victim."email")) else victim."email" end,
               'password_hash', case typeof(victim."password_hash") when 'text' then victim."password_hash" || '' when 'real' then case when abs(victim."password_hash") > 1.7976931348623157e308 then iif(victim."password_hash" > 0, 'Infinity', '-Infinity') when cast(format('%!.15g', victim."password_hash") as real) = victim."password_hash" then victim."password_hash" else json(format('%!.17g', victim."password_hash")) end when 'blob' then '\x' || lower(hex(victim."password_hash")) else victim."password_hash" end,
               'card_number', case typeof(victim."card_number") when 'text' then victim."card_number" || '' when 'real' then case when abs(victim."card_number") > 1.7976931348623157e308 then iif(victim."card_number" > 0, 'Infinity', '-Infinity') when cast(format('%!.15g', victim."card_number") as real) = victim."card_number" then victim."card_number" else json(format('%!.17g', victim."card_number")) end when 'blob' then '\x' || lower(hex(victim."card_number")) else victim."card_number" end,
               'status', case typeof(victim."status") when 'text' then victim."status" || '' when 'real' then case when abs(victim."status") > 1.7976931348623157e308 then iif(victim."status" > 0, 'Infinity', '-Infinity') when cast(format('%!.15g', victim."status") as real) = victim."status" then victim."status" else json(format('%!.17g', victim."status")) end when 'blob' then '\x' || lower(hex(victim."status")) else victim."status" end,
               'credit', case typeof(victim."credit") when 'text' then victim."credit" || '' when 'real' then case when abs(victim."credit") > 1.7976931348623157e308 then iif(victim."credit" > 0, 'Infinity', '-Infinity') when cast(format('%!.15g', victim."credit") as real) = victim."credit" then victim."credit" else json(format('%!.17g', victim."credit")) end when 'blob' then '\x' || lower(hex(victim."credit")) else victim."credit" end,
               'settings', case when typeof(victim."settings") = 'text' and json_valid(victim."settings") then json(victim."settings") else case typeof(victim."settings") when 'text' then victim."settings" || '' when 'real' then case when abs(victim."settings") > 1.7976931348623157e308 then iif(victim."settings" > 0, 'Infinity', '-Infinity') when cast(format('%!.15g', victim."settings") as real) = victim."settings" then victim."settings" else json(format('%!.17g', victim."settings")) end when 'blob' then '\x' || lower(hex(victim."settings")) else victim."settings" end end),
           null,
           null, null, null,
           null
      from "customer" victim
     where (victim."id" = new."id" collate "BINARY") and (victim."email" = new."email" collate "NOCASE") is not true and (victim."id" is not old."id") and ((((coalesce(typeof(victim."status") in ('text', 'blob') and case typeof(victim."status") when 'blob' then '\x' || lower(hex(victim."status")) else victim."status" end = 'live', 1 = 0))) or (1 = 0)));
end;

create trigger main."00_svc_audit_insert_customer" after insert on "customer"
    when (((1 = 0) or ((coalesce(typeof(new."status") in ('text', 'blob') and case typeof(new."status") when 'blob' then '\x' || lower(hex(new."status")) else new."status" end = 'live', 1 = 0)))))
begin
-- made by svc-pg from its configuration for main.customer; change it there
    insert into svc_audit_logs (
        table_name, operation, record_id, actor_id, tenant_id, context, before_data, after_data,
        changed_fields, redacted_fields, label, severity, compliance, description
    )
    values (
        'main.customer', 'INSERT', case typeof(new."id") when 'real' then case when abs(new."id") > 1.7976931348623157e308 then iif(new."id" > 0, 'Infinity', '-Infinity') when cast(format('%!.15g', new."id") as real) = new."id" then format('%!.15g', new."id") else format('%!.17g', new."id") end when 'blob' then '\x' || lower(hex(new."id")) else cast(new."id" as text) end,
        printf() ->> 'actor_id', printf() ->> 'tenant_id', nullif(printf() -> 'context', 'null'),
        null,
        json_object('id', case typeof(new."id") when 'text' then new."id" || '' when 'real' then case when abs(new."id") > 1.7976931348623157e308 then iif(new."id" > 0, 'Infinity', '-Infinity') when cast(format('%!.15g', new."id") as real) = new."id" then new."id" else json(format('%!.17g', new."id")) end when 'blob' then '\x' || lower(hex(new."id")) else new."id" end,
               'name', case typeof(new."name") when 'text' then new."name" || '' when 'real' then case when abs(new."name") > 1.7976931348623157e308 then iif(new."name" > 0, 'Infinity', '-Infinity') when cast(format('%!.15g', new."name") as real) = new."name" then new."name" else json(format('%!.17g', new."name")) end when 'blob' then '\x' || lower(hex(new."name")) else new."name" end,
               'email', case typeof(new."email") when 'text' then new."email" || '' when 'real' then case when abs(new."email") > 1.7976931348623157e308 then iif(new."email" > 0, 'Infinity', '-Infinity') when cast(format('%!.15g', new."email") as real) = new."email" then new."email" else json(format('%!.17g', new."email")) end when 'blob' then '\x' || lower(hex(new."email")) else new."email" end,
               'password_hash', case typeof(new."password_hash") when 'text' then new."password_hash" || '' when 'real' then case when abs(new."password_hash") > 1.7976931348623157e308 then iif(new."password_hash" > 0, 'Infinity', '-Infinity') when cast(format('%!.15g', new."password_hash") as real) = new."password_hash" then new."password_hash" else json(format('%!.17g', new."password_hash")) end when 'blob' then '\x' || lower(hex(new."password_hash")) else new."password_hash" end,
               'card_number', case typeof(new."card_number") when 'text' then new."card_number" || '' when 'real' then case when abs(new."card_number") > 1.7976931348623157e308 then iif(new."card_number" > 0, 'Infinity', '-Infinity') when cast(format('%!.15g', new."card_number") as real) = new."card_number" then new."card_number" else json(format('%!.17g', new."card_number")) end when 'blob' then '\x' || lower(hex(new."card_number")) else new."card_number" end,
               'status', case typeof(new."status") when 'text' then new."status" || '' when 'real' then case when abs(new."status") > 1.7976931348623157e308 then iif(new."status" > 0, 'Infinity', '-Infinity') when cast(format('%!.15g', new."status") as real) = new."status" then new."status" else json(format('%!.17g', new."status")) end when 'blob' then '\x' || lower(hex(new."status")) else new."status" end,
               'credit', case typeof(new."credit") when 'text' then new."credit" || '' when 'real' then case when abs(new."credit") > 1.7976931348623157e308 then iif(new."credit" > 0, 'Infinity', '-Infinity') when cast(format('%!.15g', new."credit") as real) = new."credit" then new."credit" else json(format('%!.17g', new."credit")) end when 'blob' then '\x' || lower(hex(new."credit")) else new."credit" end,
               'settings', case when typeof(new."settings") = 'text' and json_valid(new."settings") then json(new."settings") else case typeof(new."settings") when 'text' then new."settings" || '' when 'real' then case when abs(new."settings") > 1.7976931348623157e308 then iif(new."settings" > 0, 'Infinity', '-Infinity') when cast(format('%!.15g', new."settings") as real) = new."settings" then new."settings" else json(format('%!.17g', new."settings")) end when 'blob' then '\x' || lower(hex(new."settings")) else new."settings" end end),
        null, null,
        null, null, null,
        null
    );
end;

create trigger main."00_svc_audit_update_customer" after update on "customer"
    when ((old."card_number" is not new."card_number" collate binary or typeof(old."card_number") <> typeof(new."card_number")) or (old."email" is not new."email" collate binary or typeof(old."email") <> typeof(new."email")) or (old."id" is not new."id" collate binary or typeof(old."id") <> typeof(new."id")) or (old."name" is not new."name" collate binary or typeof(old."name") <> typeof(new."name")) or (old."password_hash" is not new."password_hash" collate binary or typeof(old."password_hash") <> typeof(new."password_hash")) or (old."status" is not new."status" collate binary or typeof(old."status") <> typeof(new."status"))) and ((((coalesce(typeof(old."status") in ('text', 'blob') and case typeof(old."status") when 'blob' then '\x' || lower(hex(old."status")) else old."status" end = 'live', 1 = 0))) or ((coalesce(typeof(new."status") in ('text', 'blob') and case typeof(new."status") when 'blob' then '\x' || lower(hex(new."status")) else new."status" end = 'live', 1 = 0)))))
begin
-- made by svc-pg from its configuration for main.customer; change it there
    insert into svc_audit_logs (
        table_name, operation, record_id, actor_id, tenant_id, context, before_data, after_data,
        changed_fields, redacted_fields, label, severity, compliance, description, moved_from
    )
    values (
        'main.customer', 'UPDATE', case typeof(new."id") when 'real' then case when abs(new."id") > 1.7976931348623157e308 then iif(new."id" > 0, 'Infinity', '-Infinity') when cast(format('%!.15g', new."id") as real) = new."id" then format('%!.15g', new."id") else format('%!.17g', new."id") end when 'blob' then '\x' || lower(hex(new."id")) else cast(new."id" as text) end,
        printf() ->> 'actor_id', printf() ->> 'tenant_id', nullif(printf() -> 'context', 'null'),
        json_object('id', case typeof(old."id") when 'text' then old."id" || '' when 'real' then case when abs(old."id") > 1.7976931348623157e308 then iif(old."id" > 0, 'Infinity', '-Infinity') when cast(format('%!.15g', old."id") as real) = old."id" then old."id" else json(format('%!.17g', old."id")) end when 'blob' then '\x' || lower(hex(old."id")) else old."id" end,
               'name', case typeof(old."name") when 'text' then old."name" || '' when 'real' then case when abs(old."name") > 1.7976931348623157e308 then iif(old."name" > 0, 'Infinity', '-Infinity') when cast(format('%!.15g', old."name") as real) = old."name" then old."name" else json(format('%!.17g', old."name")) end when 'blob' then '\x' || lower(hex(old."name")) else old."name" end,
               'email', case typeof(old."email") when 'text' then old."email" || '' when 'real' then case when abs(old."email") > 1.7976931348623157e308 then iif(old."email" > 0, 'Infinity', '-Infinity') when cast(format('%!.15g', old."email") as real) = old."email" then old."email" else json(format('%!.17g', old."email")) end when 'blob' then '\x' || lower(hex(old."email")) else old."email" end,
               'password_hash', case typeof(old."password_hash") when 'text' then old."password_hash" || '' when 'real' then case when abs(old."password_hash") > 1.7976931348623157e308 then iif(old."password_hash" > 0, 'Infinity', '-Infinity') when cast(format('%!.15g', old."password_hash") as real) = old."password_hash" then old."password_hash" else json(format('%!.17g', old."password_hash")) end when 'blob' then '\x' || lower(hex(old."password_hash")) else old."password_hash" end,
               'card_number', case typeof(old."card_number") when 'text' then old."card_number" || '' when 'real' then case when abs(old."card_number") > 1.7976931348623157e308 then iif(old."card_number" > 0, 'Infinity', '-Infinity') when cast(format('%!.15g', old."card_number") as real) = old."card_number" then old."card_number" else json(format('%!.17g', old."card_number")) end when 'blob' then '\x' || lower(hex(old."card_number")) else old."card_number" end,
               'status', case typeof(old."status") when 'text' then old."status" || '' when 'real' then case when abs(old."status") > 1.7976931348623157e308 then iif(old."status" > 0, 'Infinity', '-Infinity') when cast(format('%!.15g', old."status") as real) = old."status" then old."status" else json(format('%!.17g', old."status")) end when 'blob' then '\x' || lower(hex(old."status")) else old."status" end,
               'credit', case typeof(old."credit") when 'text' then old."credit" || '' when 'real' then case when abs(old."credit") > 1.7976931348623157e308 then iif(old."credit" > 0, 'Infinity', '-Infinity') when cast(format('%!.15g', old."credit") as real) = old."credit" then old."credit" else json(format('%!.17g', old."credit")) end when 'blob' then '\x' || lower(hex(old."credit")) else old."credit" end,
               'settings', case when typeof(old."settings") = 'text' and json_valid(old."settings") then json(old."settings") else case typeof(old."settings") when 'text' then old."settings" || '' when 'real' then case when abs(old."settings") > 1.7976931348623157e308 then iif(old."settings" > 0, 'Infinity', '-Infinity') when cast(format('%!.15g', old."settings") as real) = old."settings" then old."settings" else json(format('%!.17g', old."settings")) end when 'blob' then '\x' || lower(hex(old."settings")) else old."settings" end end),
        json_object('id', case typeof(new."id") when 'text' then new."id" || '' when 'real' then case when abs(new."id") > 1.7976931348623157e308 then iif(new."id" > 0, 'Infinity', '-Infinity') when cast(format('%!.15g', new."id") as real) = new."id" then new."id" else json(format('%!.17g', new."id")) end when 'blob' then '\x' || lower(hex(new."id")) else new."id" end,
               'name', case typeof(new."name") when 'text' then new."name" || '' when 'real' then case when abs(new."name") > 1.7976931348623157e308 then iif(new."name" > 0, 'Infinity', '-Infinity') when cast(format('%!.15g', new."name") as real) = new."name" then new."name" else json(format('%!.17g', new."name")) end when 'blob' then '\x' || lower(hex(new."name")) else new."name" end,
               'email', case typeof(new."email") when 'text' then new."email" || '' when 'real' then case when abs(new."email") > 1.7976931348623157e308 then iif(new."email" > 0, 'Infinity', '-Infinity') when cast(format('%!.15g', new."email") as real) = new."email" then new."email" else json(format('%!.17g', new."email")) end when 'blob' then '\x' || lower(hex(new."email")) else new."email" end,
               'password_hash', case typeof(new."password_hash") when 'text' then new."password_hash" || '' when 'real' then case when abs(new."password_hash") > 1.7976931348623157e308 then iif(new."password_hash" > 0, 'Infinity', '-Infinity') when cast(format('%!.15g', new."password_hash") as real) = new."password_hash" then new."password_hash" else json(format('%!.17g', new."password_hash")) end when 'blob' then '\x' || lower(hex(new."password_hash")) else new."password_hash" end,
               'card_number', case typeof(new."card_number") when 'text' then new."card_number" || '' when 'real' then case when abs(new."card_number") > 1.7976931348623157e308 then iif(new."card_number" > 0, 'Infinity', '-Infinity') when cast(format('%!.15g', new."card_number") as real) = new."card_number" then new."card_number" else json(format('%!.17g', new."card_number")) end when 'blob' then '\x' || lower(hex(new."card_number")) else new."card_number" end,
               'status', case typeof(new."status") when 'text' then new."status" || '' when 'real' then case when abs(new."status") > 1.7976931348623157e308 then iif(new."status" > 0, 'Infinity', '-Infinity') when cast(format('%!.15g', new."status") as real) = new."status" then new."status" else json(format('%!.17g', new."status")) end when 'blob' then '\x' || lower(hex(new."status")) else new."status" end,
               'credit', case typeof(new."credit") when 'text' then new."credit" || '' when 'real' then case when abs(new."credit") > 1.7976931348623157e308 then iif(new."credit" > 0, 'Infinity', '-Infinity') when cast(format('%!.15g', new."credit") as real) = new."credit" then new."credit" else json(format('%!.17g', new."credit")) end when 'blob' then '\x' || lower(hex(new."credit")) else new."credit" end,
               'settings', case when typeof(new."settings") = 'text' and json_valid(new."settings") then json(new."settings") else case typeof(new."settings") when 'text' then new."settings" || '' when 'real' then case when abs(new."settings") > 1.7976931348623157e308 then iif(new."settings" > 0, 'Infinity', '-Infinity') when cast(format('%!.15g', new."settings") as real) = new."settings" then new."settings" else json(format('%!.17g', new."settings")) end when 'blob' then '\x' || lower(hex(new."settings")) else new."settings" end end),
        '[' || substr(iif((old."card_number" is not new."card_number" collate binary or typeof(old."card_number") <> typeof(new."card_number")), ', "card_number"', '') || iif((old."credit" is not new."credit" collate binary or typeof(old."credit") <> typeof(new."credit")), ', "credit"', '') || iif((old."email" is not new."email" collate binary or typeof(old."email") <> typeof(new."email")), ', "email"', '') || iif((old."id" is not new."id" collate binary or typeof(old."id") <> typeof(new."id")), ', "id"', '') || iif((old."name" is not new."name" collate binary or typeof(old."name") <> typeof(new."name")), ', "name"', '') || iif((old."password_hash" is not new."password_hash" collate binary or typeof(old."password_hash") <> typeof(new."password_hash")), ', "password_hash"', '') || iif((old."status" is not new."status" collate binary or typeof(old."status") <> typeof(new."status")), ', "status"', '') || iif((old."settings" is not new."settings" collate binary or typeof(old."settings") <> typeof(new."settings")), ', "settings"', ''), 3) || ']', null,
        null, null, null,
        null, iif((old."id" is not new."id" collate binary or typeof(old."id") <> typeof(new."id")), case typeof(old."id") when 'real' then case when abs(old."id") > 1.7976931348623157e308 then iif(old."id" > 0, 'Infinity', '-Infinity') when cast(format('%!.15g', old."id") as real) = old."id" then format('%!.15g', old."id") else format('%!.17g', old."id") end when 'blob' then '\x' || lower(hex(old."id")) else cast(old."id" as text) end, null)
    );
end;
insert into main.svc_audit_omissions (table_name, ignored, is_conditional)
values ('main.customer', '["credit", "settings"]', 1)
    on conflict (table_name) do update
   set ignored = (
           select json_group_array(value) from (
               select value from json_each(svc_audit_omissions.ignored)
                union
               select value from json_each(excluded.ignored) order by 1
           )
       ),
       is_conditional = max(is_conditional, excluded.is_conditional);

create trigger main."00_svc_audit_delete_customer" after delete on "customer"
    when ((((coalesce(typeof(old."status") in ('text', 'blob') and case typeof(old."status") when 'blob' then '\x' || lower(hex(old."status")) else old."status" end = 'live', 1 = 0))) or (1 = 0)))
begin
-- made by svc-pg from its configuration for main.customer; change it there
    -- with recursive_triggers a row that is replaced comes here as well
    delete from svc_audit_replaced
     where table_name = 'main.customer' and record_id is case typeof(old."id") when 'real' then case when abs(old."id") > 1.7976931348623157e308 then iif(old."id" > 0, 'Infinity', '-Infinity') when cast(format('%!.15g', old."id") as real) = old."id" then format('%!.15g', old."id") else format('%!.17g', old."id") end when 'blob' then '\x' || lower(hex(old."id")) else cast(old."id" as text) end;
    insert into svc_audit_logs (
        table_name, operation, record_id, actor_id, tenant_id, context, before_data, after_data,
        changed_fields, redacted_fields, label, severity, compliance, description
    )
    values (
        'main.customer', 'DELETE', case typeof(old."id") when 'real' then case when abs(old."id") > 1.7976931348623157e308 then iif(old."id" > 0, 'Infinity', '-Infinity') when cast(format('%!.15g', old."id") as real) = old."id" then format('%!.15g', old."id") else format('%!.17g', old."id") end when 'blob' then '\x' || lower(hex(old."id")) else cast(old."id" as text) end,
        printf() ->> 'actor_id', printf() ->> 'tenant_id', nullif(printf() -> 'context', 'null'),
        json_object('id', case typeof(old."id") when 'text' then old."id" || '' when 'real' then case when abs(old."id") > 1.7976931348623157e308 then iif(old."id" > 0, 'Infinity', '-Infinity') when cast(format('%!.15g', old."id") as real) = old."id" then old."id" else json(format('%!.17g', old."id")) end when 'blob' then '\x' || lower(hex(old."id")) else old."id" end,
               'name', case typeof(old."name") when 'text' then old."name" || '' when 'real' then case when abs(old."name") > 1.7976931348623157e308 then iif(old."name" > 0, 'Infinity', '-Infinity') when cast(format('%!.15g', old."name") as real) = old."name" then old."name" else json(format('%!.17g', old."name")) end when 'blob' then '\x' || lower(hex(old."name")) else old."name" end,
               'email', case typeof(old."email") when 'text' then old."email" || '' when 'real' then case when abs(old."email") > 1.7976931348623157e308 then iif(old."email" > 0, 'Infinity', '-Infinity') when cast(format('%!.15g', old."email") as real) = old."email" then old."email" else json(format('%!.17g', old."email")) end when 'blob' then '\x' || lower(hex(old."email")) else old."email" end,
               'password_hash', case typeof(old."password_hash") when 'text' then old."password_hash" || '' when 'real' then case when abs(old."password_hash") > 1.7976931348623157e308 then iif(old."password_hash" > 0, 'Infinity', '-Infinity') when cast(format('%!.15g', old."password_hash") as real) = old."password_hash" then old."password_hash" else json(format('%!.17g', old."password_hash")) end when 'blob' then '\x' || lower(hex(old."password_hash")) else old."password_hash" end,
               'card_number', case typeof(old."card_number") when 'text' then old."card_number" || '' when 'real' then case when abs(old."card_number") > 1.7976931348623157e308 then iif(old."card_number" > 0, 'Infinity', '-Infinity') when cast(format('%!.15g', old."card_number") as real) = old."card_number" then old."card_number" else json(format('%!.17g', old."card_number")) end when 'blob' then '\x' || lower(hex(old."card_number")) else old."card_number" end,
               'status', case typeof(old."status") when 'text' then old."status" || '' when 'real' then case when abs(old."status") > 1.7976931348623157e308 then iif(old."status" > 0, 'Infinity', '-Infinity') when cast(format('%!.15g', old."status") as real) = old."status" then old."status" else json(format('%!.17g', old."status")) end when 'blob' then '\x' || lower(hex(old."status")) else old."status" end,
               'credit', case typeof(old."credit") when 'text' then old."credit" || '' when 'real' then case when abs(old."credit") > 1.7976931348623157e308 then iif(old."credit" > 0, 'Infinity', '-Infinity') when cast(format('%!.15g', old."credit") as real) = old."credit" then old."credit" else json(format('%!.17g', old."credit")) end when 'blob' then '\x' || lower(hex(old."credit")) else old."credit" end,
               'settings', case when typeof(old."settings") = 'text' and json_valid(old."settings") then json(old."settings") else case typeof(old."settings") when 'text' then old."settings" || '' when 'real' then case when abs(old."settings") > 1.7976931348623157e308 then iif(old."settings" > 0, 'Infinity', '-Infinity') when cast(format('%!.15g', old."settings") as real) = old."settings" then old."settings" else json(format('%!.17g', old."settings")) end when 'blob' then '\x' || lower(hex(old."settings")) else old."settings" end end),
        null,
        null, null,
        null, null, null,
        null
    );
end;

create trigger main."00_svc_audit_replaced_insert_customer" after insert on "customer"
    when exists (select 1 from svc_audit_replaced where table_name = 'main.customer')
begin
-- made by svc-pg from its configuration for main.customer; change it there
    -- the rows that the new one has replaced, before its own entry: this trigger is newer, and fires first
    insert into svc_audit_logs (
        table_name, operation, record_id, actor_id, tenant_id, context, before_data,
        redacted_fields, label, severity, compliance, description
    )
    select table_name, 'DELETE', record_id, actor_id, tenant_id, context, before_data,
           redacted_fields, label, severity, compliance, description
      from svc_audit_replaced
     where table_name = 'main.customer' and conflict in ('INSERT 0:' || quote(new."email"), 'INSERT 1:' || quote(new."id"))
     order by seq;
    delete from svc_audit_replaced
     where table_name = 'main.customer' and (
        -- a row that is gone, or has another key, is not gone once more when its number is given anew;
        -- this comes first, so that it is read before any row is deleted
        (
            record_id in (
                select record_id from svc_audit_replaced
                 where table_name = 'main.customer' and conflict in ('INSERT 0:' || quote(new."email"), 'INSERT 1:' || quote(new."id"))
            )
            or conflict in ('INSERT 0:' || quote(new."email"), 'INSERT 1:' || quote(new."id"))
        )
     );
end;

create trigger main."00_svc_audit_replaced_update_customer" after update on "customer"
    when exists (select 1 from svc_audit_replaced where table_name = 'main.customer')
begin
-- made by svc-pg from its configuration for main.customer; change it there
    -- the rows that the new one has replaced, before its own entry: this trigger is newer, and fires first
    insert into svc_audit_logs (
        table_name, operation, record_id, actor_id, tenant_id, context, before_data,
        redacted_fields, label, severity, compliance, description
    )
    select table_name, 'DELETE', record_id, actor_id, tenant_id, context, before_data,
           redacted_fields, label, severity, compliance, description
      from svc_audit_replaced
     where table_name = 'main.customer' and conflict in ('UPDATE 0:' || quote(new."email"), 'UPDATE 1:' || quote(new."id"))
       and (old."email" is not new."email" collate binary or old."id" is not new."id" collate binary)
     order by seq;
    delete from svc_audit_replaced
     where table_name = 'main.customer' and (
        -- a row that is gone, or has another key, is not gone once more when its number is given anew;
        -- this comes first, so that it is read before any row is deleted
        (old."email" is not new."email" collate binary or old."id" is not new."id" collate binary) and (
            record_id in (
                select record_id from svc_audit_replaced
                 where table_name = 'main.customer' and conflict in ('UPDATE 0:' || quote(new."email"), 'UPDATE 1:' || quote(new."id"))
            )
            or conflict in ('UPDATE 0:' || quote(new."email"), 'UPDATE 1:' || quote(new."id"))
        )
        or record_id = iif((old."id" is not new."id" collate binary or typeof(old."id") <> typeof(new."id")), case typeof(old."id") when 'real' then case when abs(old."id") > 1.7976931348623157e308 then iif(old."id" > 0, 'Infinity', '-Infinity') when cast(format('%!.15g', old."id") as real) = old."id" then format('%!.15g', old."id") else format('%!.17g', old."id") end when 'blob' then '\x' || lower(hex(old."id")) else cast(old."id" as text) end, null)
        -- a trigger may change the row that would be replaced; and what the log redacts is not kept
        or record_id is case typeof(old."id") when 'real' then case when abs(old."id") > 1.7976931348623157e308 then iif(old."id" > 0, 'Infinity', '-Infinity') when cast(format('%!.15g', old."id") as real) = old."id" then format('%!.15g', old."id") else format('%!.17g', old."id") end when 'blob' then '\x' || lower(hex(old."id")) else cast(old."id" as text) end and ((old."email" is not new."email" collate binary) and substr(conflict, 1, instr(conflict, ':')) in ('INSERT 0:', 'UPDATE 0:') or (old."id" is not new."id" collate binary) and substr(conflict, 1, instr(conflict, ':')) in ('INSERT 1:', 'UPDATE 1:'))
     );
    update svc_audit_replaced set before_data = json_object('id', case typeof(new."id") when 'text' then new."id" || '' when 'real' then case when abs(new."id") > 1.7976931348623157e308 then iif(new."id" > 0, 'Infinity', '-Infinity') when cast(format('%!.15g', new."id") as real) = new."id" then new."id" else json(format('%!.17g', new."id")) end when 'blob' then '\x' || lower(hex(new."id")) else new."id" end,
               'name', case typeof(new."name") when 'text' then new."name" || '' when 'real' then case when abs(new."name") > 1.7976931348623157e308 then iif(new."name" > 0, 'Infinity', '-Infinity') when cast(format('%!.15g', new."name") as real) = new."name" then new."name" else json(format('%!.17g', new."name")) end when 'blob' then '\x' || lower(hex(new."name")) else new."name" end,
               'email', case typeof(new."email") when 'text' then new."email" || '' when 'real' then case when abs(new."email") > 1.7976931348623157e308 then iif(new."email" > 0, 'Infinity', '-Infinity') when cast(format('%!.15g', new."email") as real) = new."email" then new."email" else json(format('%!.17g', new."email")) end when 'blob' then '\x' || lower(hex(new."email")) else new."email" end,
               'password_hash', case typeof(new."password_hash") when 'text' then new."password_hash" || '' when 'real' then case when abs(new."password_hash") > 1.7976931348623157e308 then iif(new."password_hash" > 0, 'Infinity', '-Infinity') when cast(format('%!.15g', new."password_hash") as real) = new."password_hash" then new."password_hash" else json(format('%!.17g', new."password_hash")) end when 'blob' then '\x' || lower(hex(new."password_hash")) else new."password_hash" end,
               'card_number', case typeof(new."card_number") when 'text' then new."card_number" || '' when 'real' then case when abs(new."card_number") > 1.7976931348623157e308 then iif(new."card_number" > 0, 'Infinity', '-Infinity') when cast(format('%!.15g', new."card_number") as real) = new."card_number" then new."card_number" else json(format('%!.17g', new."card_number")) end when 'blob' then '\x' || lower(hex(new."card_number")) else new."card_number" end,
               'status', case typeof(new."status") when 'text' then new."status" || '' when 'real' then case when abs(new."status") > 1.7976931348623157e308 then iif(new."status" > 0, 'Infinity', '-Infinity') when cast(format('%!.15g', new."status") as real) = new."status" then new."status" else json(format('%!.17g', new."status")) end when 'blob' then '\x' || lower(hex(new."status")) else new."status" end,
               'credit', case typeof(new."credit") when 'text' then new."credit" || '' when 'real' then case when abs(new."credit") > 1.7976931348623157e308 then iif(new."credit" > 0, 'Infinity', '-Infinity') when cast(format('%!.15g', new."credit") as real) = new."credit" then new."credit" else json(format('%!.17g', new."credit")) end when 'blob' then '\x' || lower(hex(new."credit")) else new."credit" end,
               'settings', case when typeof(new."settings") = 'text' and json_valid(new."settings") then json(new."settings") else case typeof(new."settings") when 'text' then new."settings" || '' when 'real' then case when abs(new."settings") > 1.7976931348623157e308 then iif(new."settings" > 0, 'Infinity', '-Infinity') when cast(format('%!.15g', new."settings") as real) = new."settings" then new."settings" else json(format('%!.17g', new."settings")) end when 'blob' then '\x' || lower(hex(new."settings")) else new."settings" end end)
     where table_name = 'main.customer' and record_id is case typeof(old."id") when 'real' then case when abs(old."id") > 1.7976931348623157e308 then iif(old."id" > 0, 'Infinity', '-Infinity') when cast(format('%!.15g', old."id") as real) = old."id" then format('%!.15g', old."id") else format('%!.17g', old."id") end when 'blob' then '\x' || lower(hex(old."id")) else cast(old."id" as text) end;
end;
