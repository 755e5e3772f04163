-- The words of an entry, for searches. Of a long snapshot, those of its first 50,000 characters: a tsvector of more
-- than a megabyte is an error, and in the index of searches that error would end the application's write.
-- Its index has to be built anew after any change here.
create or replace function svc.audit_words(p_before jsonb, p_after jsonb, p_description text) returns tsvector
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
set client_min_messages = warning -- no notice for a word that is too long
as $svc$
declare
    v_snapshot jsonb;
    v_words tsvector := to_tsvector('pg_catalog.simple', left(coalesce(p_description, ''), 10000));
begin
    foreach v_snapshot in array array[p_before, p_after] loop
        if length(v_snapshot::text) > 50000 then
            v_words := v_words || to_tsvector('pg_catalog.simple', left(v_snapshot::text, 50000));
        elsif v_snapshot is not null then
            v_words := v_words
                || jsonb_to_tsvector('pg_catalog.simple', v_snapshot, '["string", "numeric", "boolean"]');
        end if;
    end loop;
    return v_words;
end
$svc$;
