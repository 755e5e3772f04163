set local "TimeZone" = 'UTC';
set local extra_float_digits = 1;
set local "DateStyle" = 'ISO, YMD';
set local "IntervalStyle" = 'iso_8601';
set local bytea_output = 'hex';
set local lc_monetary = 'C';
-- an error is better than the rows that a policy shows
set local row_security = off;
-- as sql/include/log_settings.sql.j2 says: of the order of record and time there is one index
set local enable_seqscan = off;
set local enable_bitmapscan = off;
set local enable_sort = off;
set local enable_incremental_sort = off;
set local jit = off;
