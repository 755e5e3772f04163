-- Let each session plan the statements of our functions anew. One that met a rule ON INSERT DO INSTEAD NOTHING has no
-- plan that names the table, so that PostgreSQL does not plan it again when the rule is dropped. A new version of the
-- function does it: 100 is the cost that all of them have.
do $svc$
declare
    v_function regprocedure;
begin
    for v_function in
        select p.oid from pg_proc p join pg_language l on l.oid = p.prolang
         where p.pronamespace = to_regnamespace('svc') and l.lanname = 'plpgsql'
    loop
        execute format('alter function %s cost 100', v_function);
    end loop;
end
$svc$;
