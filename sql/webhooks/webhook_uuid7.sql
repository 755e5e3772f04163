-- A UUID version 7 (RFC 9562, 6.2, method 3): sorts by the 4096th of a millisecond of its creation, so that what one
-- transaction sends stays in its order. Written out even for 18, which has its own, so that a dump restores on every
-- version. Has no SET, so that it can be inlined; hence the qualified names.
-- access: admin
create or replace function svc.webhook_uuid7() returns uuid
language sql volatile parallel safe
as $svc$
    select pg_catalog.overlay(
        pg_catalog.gen_random_uuid()::pg_catalog.text,
        pg_catalog.overlay(
            pg_catalog.overlay(
                pg_catalog.lpad(
                    pg_catalog.to_hex(
                        (extract(epoch from pg_catalog.clock_timestamp())
                         operator(pg_catalog.*) 4096000)::pg_catalog.int8
                    ), 15, '0'
                ),
                '-7', 13, 0
            ),
            '-', 9, 0
        ),
        1, 18
    )::pg_catalog.uuid
$svc$;
