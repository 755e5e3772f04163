-- Microseconds since 1970, below 2^53 until 2255. A sequence is this, or one more than the last of its key if that is
-- greater. So it is above all that receivers have seen, also of commits that a failover or a restore has lost, of
-- which nothing in the database can tell. Has no SET, so that it can be inlined; hence the qualified names.
-- access: admin
create or replace function svc.webhook_clock() returns bigint
language sql volatile parallel safe
as $svc$
    select (
        pg_catalog.date_part('epoch', pg_catalog.clock_timestamp()) operator(pg_catalog.*) 1000000
    )::pg_catalog.int8
$svc$;
