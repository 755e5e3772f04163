-- The words of an entry, for searches. Of a long snapshot, those of its first 50,000 characters: a tsvector of more
-- than a megabyte is an error, and in the index of searches that error would end the application's write.
-- PostgreSQL's parser takes the square of the length for what has no spaces, and for many beginnings of HTML comments:
-- 50,000 such characters took 19 seconds, in the write too. So they are cut, and snapshots with them are read as text.
-- They are found by the pieces between spaces: '[^[:space:]]{250}' asks the same, and takes ten times as long.
-- Its index has to be built anew after any change here.
-- access: owner, writer, reader, admin
create or replace function svc.audit_words(p_before jsonb, p_after jsonb, p_description text) returns tsvector
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
set client_min_messages = warning -- no notice for a word that is too long
as $svc$
declare
    v_snapshot jsonb;
    v_text text;
    v_texts text := left(coalesce(p_description, ''), 10000);
    v_words tsvector := ''::tsvector;
begin
    foreach v_snapshot in array array[p_before, p_after] loop
        v_text := v_snapshot::text;
        if length(v_text) > 50000
            or strpos(v_text, '<!--') > 0
            or length(v_text) >= 250
                and exists (select from regexp_split_to_table(v_text, '[[:space:]]+') piece where length(piece) >= 250)
        then
            -- without the escapes of JSON, whose letters would begin the words after them
            v_texts := v_texts || ' ' || regexp_replace(left(v_text, 50000), E'\\\\[\\\\bfnrt]', ' ', 'g');
        elsif v_snapshot is not null then
            v_words := v_words
                || jsonb_to_tsvector('pg_catalog.simple', v_snapshot, '["string", "numeric", "boolean"]');
        end if;
    end loop;
    v_texts := regexp_replace(replace(v_texts, '<!--', ' '), '([^[:space:]]{250})', E'\\1 ', 'g');
    return v_words || to_tsvector('pg_catalog.simple', v_texts);
end
$svc$;
