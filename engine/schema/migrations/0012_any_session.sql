-- Right in every session and database. A text/template as the others.

-- No backslash: a body is read again in each session, and with standard_conforming_strings off one escapes.
create or replace function mbus4.place_of_iid(iid text, out queue text, out available_at timestamptz, out id bigint)
language sql stable parallel safe
as $$
    select pg_catalog.left(iid, -(pg_catalog.length(n) + 2 + pg_catalog.length(pg_catalog.current_database()))),
           timestamptz 'epoch' + pg_catalog.left(n, 16)::bigint * interval '1 microsecond',
           pg_catalog.substr(n, 17)::bigint
    from pg_catalog.substring(iid, '[.]([1-9][0-9]{15}[1-9][0-9]{0,17})$') n
    where pg_catalog.right(iid, pg_catalog.length(n) + 2 + pg_catalog.length(pg_catalog.current_database()))
        = '.' || pg_catalog.current_database() || '.' || n
$$;

-- The md5 of the selector's text is that of its UTF-8, whatever the database's encoding.
create or replace function mbus4.new_temporary_consumer(qname text, selector text, call int) returns text
language sql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
    with source as materialized (
        select q.id, coalesce(q.name, format('mbus4-error %s 42704 queue %s does not exist', $3, coalesce('"' || $1 || '"', 'null'))::int::text) as name,
               case when btrim($2, E' \t\r\n') <> '' then
                   case when to_regprocedure('mbus4.selector_' || to_hex(h.id) || '(mbus4.qt_model)') is not null then h.id
                        else format('mbus4-error %s 0A000 the selector %s was not checked; give it as a literal or as a parameter of the statement', $3, $2)::int
                   end
               end as selector_id
        from (select ('x' || left(md5(convert_to($2, 'UTF8')), 16))::bit(64)::bigint as id) h
        left join mbus4.queue q on q.name = lower($1)
    ), made as materialized (
        select s.*, mbus4.new_temporary_queue() as target from source s where s.name is not null
    )
    insert into mbus4.consumer (queue_id, queue, name, selector, selector_id, target)
    select m.id, m.name, 'TRIGGER ' || m.target, case when m.selector_id is not null then $2 end, m.selector_id, m.target
    from made m
    returning target
$$;
