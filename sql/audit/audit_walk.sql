-- The order in which the entries of one record follow each other: each begins with the image with which the one before
-- it ends; '' stands for absence. The walk uses every entry once (an Euler path, by Hierholzer's algorithm), of
-- several ways the one by the entry with the lowest number. It begins where the images tell, or at p_start if it ends
-- where it began. Null if there is no such walk.
-- access: writer, reader, admin
create or replace function svc.audit_walk(p_before text[], p_after text[], p_start text) returns integer[]
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $svc$
declare
    v_count constant integer := cardinality(p_before);
    v_from integer[];
    v_to integer[];
    v_start integer;
    v_starts integer;
    v_first integer[]; -- of each image, its first entry that is left, then of each entry the next of its image
    v_next integer[];
    v_images integer[]; -- the walk so far, and the entries on it
    v_entries integer[] := array[0];
    v_depth integer := 1;
    v_entry integer;
    v_walk integer[] := array_fill(0, array[v_count]);
    v_left integer := v_count;
begin
    with image as (
        select n, b, a, dense_rank() over (order by image collate "C") as number
          from (
            select n, true as b, false as a, before as image
              from unnest(p_before) with ordinality u(before, n)
            union all
            select n, false, true, after from unnest(p_after) with ordinality u(after, n)
            union all
            select 0, false, false, p_start where p_start is not null
          ) every
    ),
    balance as (
        select number, count(*) filter (where b) - count(*) filter (where a) as surplus from image group by number
    )
    select array_agg(i.number order by i.n) filter (where i.b), array_agg(i.number order by i.n) filter (where i.a),
           max(i.number) filter (where i.n = 0), array_fill(0, array[max(i.number)::integer]),
           (select min(x.number) from balance x where x.surplus = 1 having count(*) = 1),
           (select sum(abs(x.surplus)) from balance x)
      into v_from, v_to, v_entry, v_first, v_start, v_starts
      from image i;
    if v_starts = 0 then
        v_start := case when v_entry = any (v_from) then v_entry else v_from[1] end;
    elsif v_starts <> 2 or v_start is null then
        return null;
    end if;
    v_next := array_fill(0, array[v_count]);
    for n in reverse v_count..1 loop
        v_next[n] := v_first[v_from[n]];
        v_first[v_from[n]] := n;
    end loop;
    v_images := array[v_start];
    while v_depth > 0 loop
        v_entry := v_first[v_images[v_depth]];
        if v_entry > 0 then
            v_first[v_images[v_depth]] := v_next[v_entry];
            v_depth := v_depth + 1;
            v_images[v_depth] := v_to[v_entry];
            v_entries[v_depth] := v_entry;
        else
            if v_entries[v_depth] > 0 then
                v_walk[v_left] := v_entries[v_depth];
                v_left := v_left - 1;
            end if;
            v_depth := v_depth - 1;
        end if;
    end loop;
    return case when v_left = 0 then v_walk end; -- or else the images are not connected
end
$svc$;
