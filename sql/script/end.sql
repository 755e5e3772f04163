do $svc$
begin
    perform set_config('search_path', current_setting('svc.script_search_path'), true);
    perform set_config('quote_all_identifiers', current_setting('svc.script_quote_all_identifiers'), true);
    perform set_config('lock_timeout', current_setting('svc.script_lock_timeout'), true);
    perform set_config('client_min_messages', current_setting('svc.script_client_min_messages'), true);
end
$svc$;
