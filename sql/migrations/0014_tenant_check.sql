-- As a dump writes it: PostgreSQL prints BETWEEN beside AND in other words after a restore, and status then said that
-- somebody had altered the constraint.
alter table svc.tenants
    drop constraint tenants_id_check,
    add constraint tenants_id_check
        check (char_length(id) >= 1 and char_length(id) <= 400 and octet_length(id) <= 1024);
