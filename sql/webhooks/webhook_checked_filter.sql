-- The given filter of an endpoint; an error if it is no SQL/JSON path, or no predicate, or could take long on a large
-- payload. What is left takes time in proportion to the payload: it compares no two paths, because lax mode goes
-- through all elements of both by itself, and has no path of the whole payload within a filter of elements. In strict
-- mode only wildcards and ranges go through elements, and there may be one. Arithmetic, string() and decimal() would
-- take long on numbers of thousands of digits, such as 1e100000. All this is found in the canonical text, in which
-- keys and texts are quoted, numbers are written out and redundant parentheses are gone.
-- access: admin
create or replace function svc.webhook_checked_filter(p_filter text) returns text
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $svc$
declare
    v_innermost constant text := E'\\??\\([^()]*\\)';
    v_path text;
    v_group text;
    v_problem text;
    v_hint text := 'Write, for example, $.amount > 100 && $.currency == "EUR".';
begin
    if char_length(p_filter) > 1000 then
        v_problem := 'has more than 1000 characters';
    else
        begin
            v_path := p_filter::jsonpath::text;
            -- only a predicate can be negated
            perform ('!(' || regexp_replace(v_path, '^strict ', '') || ')')::jsonpath;
        exception when syntax_error or data_exception or feature_not_supported or statement_too_complex then
            v_problem := case when v_path is null then 'is not an SQL/JSON path: ' || sqlerrm
                              else 'is a path, and not a predicate' end;
        end;
    end if;
    if v_problem is null then
        v_path := regexp_replace(v_path, E'"([^"\\\\]|\\\\.)*"', '""', 'g');
        v_problem := case
            when v_path ~ E'\\mlike_regex\\M' then 'contains like_regex'
            when v_path ~ E'\\*\\*' then 'contains **'
            when v_path ~ E'\\.keyvalue\\(' then 'contains keyvalue()'
            when v_path ~ E'\\.(string|decimal)\\(' then 'contains string() or decimal()'
            when v_path ~ E'\\$""' then 'contains a variable'
            when v_path ~ E'\\[[^]]*[$@]' then 'contains a path in a subscript'
            when regexp_replace(v_path, E'\\[(\\*|last - \\d{1,9})\\]|\\.\\*', '', 'g') ~ '[-+*/%] |[-+][$@(]'
                then 'contains arithmetic'
            when char_length(v_path) > 4000 then 'contains too large numbers'
            when (select count(*) from regexp_matches(v_path, E'\\[\\*\\]|\\.\\*|\\mto\\M|,', 'g')) > 1
                then 'contains more than one wildcard or range'
        end;
        if v_problem like '%wildcard%' then
            v_hint := 'Lax mode goes through arrays by itself: $.items.sku == "A-1" needs none.';
        end if;
    end if;
    if v_path !~ '^strict ' then
        v_path := regexp_replace(v_path, E'\\.[a-z_]+\\([^()]*\\)', '', 'g');  -- methods, which take no paths
        while v_problem is null and v_path ~ v_innermost loop
            v_group := substring(v_path from v_innermost);
            if v_group like '?%$%'
                or exists (select from regexp_split_to_table(v_group, E'&&|\\|\\|') p where p ~ '[$@].*[$@]') then
                v_problem := 'compares two paths in lax mode';
                v_hint := 'Begin it with strict, for example: strict $.paid < $.amount';
            end if;
            -- a filter of elements stays within its path; other groups count as the path that they contain
            v_path := regexp_replace(v_path, v_innermost, case when v_group like '?%' then '' else
                                         coalesce(substring(v_group from '[$]'), substring(v_group from '@'), '') end);
        end loop;
    end if;
    if v_problem is not null then
        raise exception 'the filter %', v_problem using errcode = 'SV103', column = 'filter', hint = v_hint;
    end if;
    return p_filter;
end
$svc$;
revoke all on function svc.webhook_checked_filter(text) from public;
