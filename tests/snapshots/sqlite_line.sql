create trigger main."00_svc_audit_insert_Order Line" after insert on "Order Line"
begin
-- made by svc-pg from its configuration for main.Order Line; change it there
    insert into svc_audit_logs (
        table_name, operation, record_id, actor_id, tenant_id, context, before_data, after_data,
        changed_fields, redacted_fields, label, severity, compliance, description
    )
    values (
        'main.Order Line', 'INSERT', '[' || json_quote(new."order_id") || ', ' || json_quote(new."place") || ']',
        printf() ->> 'actor_id', printf() ->> 'tenant_id', nullif(printf() -> 'context', 'null'),
        null,
        json_object('order_id', new."order_id",
               'place', new."place",
               'quantity', new."quantity"),
        null, null,
        null, null, null,
        null
    );
end;

create trigger main."00_svc_audit_update_Order Line" after update on "Order Line"
    when old."order_id" is not new."order_id" or old."place" is not new."place" or old."quantity" is not new."quantity"
begin
-- made by svc-pg from its configuration for main.Order Line; change it there
    insert into svc_audit_logs (
        table_name, operation, record_id, actor_id, tenant_id, context, before_data, after_data,
        changed_fields, redacted_fields, label, severity, compliance, description, moved_from
    )
    values (
        'main.Order Line', 'UPDATE', '[' || json_quote(new."order_id") || ', ' || json_quote(new."place") || ']',
        printf() ->> 'actor_id', printf() ->> 'tenant_id', nullif(printf() -> 'context', 'null'),
        json_object('order_id', old."order_id",
               'place', old."place",
               'quantity', old."quantity"),
        json_object('order_id', new."order_id",
               'place', new."place",
               'quantity', new."quantity"),
        '[' || substr(iif(old."order_id" is not new."order_id", ', "order_id"', '') || iif(old."place" is not new."place", ', "place"', '') || iif(old."quantity" is not new."quantity", ', "quantity"', ''), 3) || ']', null,
        null, null, null,
        null, iif(old."order_id" is not new."order_id" or old."place" is not new."place", '[' || json_quote(old."order_id") || ', ' || json_quote(old."place") || ']', null)
    );
end;

create trigger main."00_svc_audit_delete_Order Line" after delete on "Order Line"
begin
-- made by svc-pg from its configuration for main.Order Line; change it there
    insert into svc_audit_logs (
        table_name, operation, record_id, actor_id, tenant_id, context, before_data, after_data,
        changed_fields, redacted_fields, label, severity, compliance, description
    )
    values (
        'main.Order Line', 'DELETE', '[' || json_quote(old."order_id") || ', ' || json_quote(old."place") || ']',
        printf() ->> 'actor_id', printf() ->> 'tenant_id', nullif(printf() -> 'context', 'null'),
        json_object('order_id', old."order_id",
               'place', old."place",
               'quantity', old."quantity"),
        null,
        null, null,
        null, null, null,
        null
    );
end;
