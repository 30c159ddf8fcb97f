-- Whether an unqualified call means a function of ours: mbus4 is in the search_path, and nothing else there
-- could take the call, as ParseFuncOrColumn in the server's parse_func.c looks for it. Name: its name,
-- Args: how many arguments, Named: the names of those given by name.
(pg_catalog.current_schemas(false) operator(pg_catalog.@>) array['mbus4']::pg_catalog.name[]
 -- Functions, aggregates, procedures. Types are not compared: where they do not fit the server says so.
 and not exists (
    select from pg_catalog.pg_proc p
    join pg_catalog.pg_namespace n on n.oid = p.pronamespace
    where p.proname = {{.Name}} and pg_catalog.pg_function_is_visible(p.oid) and n.nspname <> 'mbus4'
      and (p.prokind = 'p' or p.provariadic <> 0 or {{.Args}} between p.pronargs - p.pronargdefaults and p.pronargs)
      and coalesce(p.proargnames, '{}') operator(pg_catalog.@>) {{.Named}})
 -- What the server's caches know and an old snapshot does not show.
 and not exists (
    select from (select pg_catalog.to_regproc({{.Name}})::pg_catalog.oid as oid offset 0) r
    where r.oid <> 0 and not exists (select from pg_catalog.pg_proc p where p.oid = r.oid))
 -- A type's name with one argument is a cast.
 and not exists (
    select from pg_catalog.pg_type t
    join pg_catalog.pg_namespace n on n.oid = t.typnamespace
    where {{.Args}} = 1 and t.typname = {{.Name}} and t.typrelid = 0 and t.typisdefined
      and n.nspname = any (pg_catalog.current_schemas(true)) and n.oid <> pg_catalog.pg_my_temp_schema()))
