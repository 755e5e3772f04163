-- Names resolve as in an install; what the transaction had set before comes back at the end.
do $svc$
begin
    perform set_config('svc.script_search_path', current_setting('search_path'), true);
    perform set_config('svc.script_lock_timeout', current_setting('lock_timeout'), true);
    perform set_config('svc.script_client_min_messages', current_setting('client_min_messages'), true);
    perform set_config('search_path', 'pg_catalog, pg_temp', true);
    perform set_config('client_min_messages', 'warning', true);
    perform set_config('lock_timeout', '60s', true);
    perform pg_advisory_xact_lock(1937138032, 0);
    perform set_config('lock_timeout', '5s', true);
end
$svc$;
