-- Begin a sign-in: store a link for the device that asked. Mail its code only if is_mailed; any other link is a
-- decoy with a hash that no code has, and nobody can tell from outside. Limits of an address are silent for the same
-- reason; retry_after is the limit of a network or a device, and then nothing is stored. p_device names a device that
-- has proved an earlier sign-in with this address: it has limits of its own, so that no stranger can use them up.
-- access: admin
create or replace function svc.console_init(
    p_session_id uuid, p_email text, p_is_allowed boolean, p_is_named boolean,
    p_device_hash bytea, p_code_hash bytea, p_decoy_hash bytea, p_max_attempts integer, p_ip inet, p_user_agent text,
    p_device text, out is_mailed boolean, out retry_after integer
)
language plpgsql
set search_path = pg_catalog, pg_temp
as $svc$
declare
    v_network text := svc.console_network(p_ip, 48);
    v_waits integer[];
    v_refusal text;
begin
    is_mailed := false;
    if p_device is null then
        retry_after := greatest(
            svc.console_hit('init from ' || svc.console_network(p_ip), 10, '15 min'),
            svc.console_hit('init from around ' || v_network, 100, '15 min')
        );
    else
        retry_after := svc.console_hit('init of ' || p_device, 10, '15 min');
    end if;
    if retry_after is not null then
        return;
    end if;
    -- every address takes the same path: all counts, then the count of all mails
    if p_device is null then
        v_waits := array[
            svc.console_hit('init once for ' || p_email || ' from ' || v_network, 1, '30 s'),
            svc.console_hit('init for ' || p_email || ' from ' || v_network, 3, '15 min')
        ];
        -- what a network asks for beyond its limit must not use up the mails that others may ask for
        v_waits := v_waits || svc.console_hit('init for ' || p_email, 12, '15 min',
                                              case when num_nonnulls(variadic v_waits) > 0 then 0 else 1 end);
    else
        v_waits := array[
            svc.console_hit('init once of ' || p_device, 1, '30 s'),
            svc.console_hit('mails of ' || p_device, 5, '15 min')
        ];
    end if;
    v_refusal := case when not p_is_allowed then 'not allowed'
                      when num_nonnulls(variadic v_waits) > 0 then 'limit of the address' end;
    -- a pattern allows addresses that strangers can invent: they must not use up the mails of people who are named
    v_waits := array[svc.console_hit(case when p_device is not null then 'mails to known devices of ' || p_email
                                          when p_is_named then 'mails by name' else 'mails by pattern' end, 100, '1 h',
                                     case when v_refusal is null then 1 else 0 end)];
    if v_refusal is null and num_nonnulls(variadic v_waits) > 0 then
        v_refusal := 'limit of all mails';
    end if;
    is_mailed := v_refusal is null;
    insert into svc.console_magic_links
        (session_id, email, device_hash, code_hash, max_attempts, ip, user_agent, expires_at, is_known_device)
    values (p_session_id, p_email, p_device_hash, case when is_mailed then p_code_hash else p_decoy_hash end,
            p_max_attempts, p_ip, p_user_agent, now() + interval '10 min', p_device is not null);
    insert into svc.console_events (event, session_id, email, ip, user_agent, detail)
    values ('link_requested', p_session_id, p_email, p_ip, p_user_agent, v_refusal);
    if not exists (select from svc.console_rate r where r.key = 'prune' and r.ends_at > now())
       and svc.console_hit('prune', 1, '10 min') is null
    then
        perform svc.console_prune(1000);
    end if;
end
$svc$;
revoke all on function
    svc.console_init(uuid, text, boolean, boolean, bytea, bytea, bytea, integer, inet, text, text) from public;
