-- Transition tables. The planner takes the join's first, small size for granted, hence no nested loop.
create function public.bare_statement() returns trigger language plpgsql set enable_nestloop = off as $$
begin
    if tg_op = 'INSERT' then
        insert into public.bare_log (after_data) select to_jsonb(n) from new_rows n;
    elsif tg_op = 'UPDATE' then
        insert into public.bare_log (before_data, after_data)
        select to_jsonb(o), to_jsonb(n) from old_rows o join new_rows n on n.id = o.id;
    else
        insert into public.bare_log (before_data) select to_jsonb(o) from old_rows o;
    end if;
    return null;
end
$$;
create trigger bare_insert after insert on public.account
    referencing new table as new_rows for each statement execute function public.bare_statement();
create trigger bare_update after update on public.account
    referencing old table as old_rows new table as new_rows for each statement execute function public.bare_statement();
create trigger bare_delete after delete on public.account
    referencing old table as old_rows for each statement execute function public.bare_statement();
