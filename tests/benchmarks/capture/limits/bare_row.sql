create function public.bare_row() returns trigger language plpgsql as $$
begin
    if tg_op = 'INSERT' then
        insert into public.bare_log (after_data) values (to_jsonb(new));
    elsif tg_op = 'UPDATE' then
        insert into public.bare_log (before_data, after_data) values (to_jsonb(old), to_jsonb(new));
    else
        insert into public.bare_log (before_data) values (to_jsonb(old));
    end if;
    return null;
end
$$;
create trigger bare_row after insert or update or delete on public.account
    for each row execute function public.bare_row();
