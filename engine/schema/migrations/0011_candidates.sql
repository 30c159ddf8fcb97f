-- What dyn_consume asks when its selector is known only as it runs, cheaper to parse and to plan. A
-- text/template as the others.

-- The columns of a message that follow from others. The planner puts their text in the place of a call, but
-- only where the column is asked for.
create function mbus4.iid_of(iid text, queue text, available_at timestamptz, id bigint) returns text
language sql stable
as $$
    select coalesce($1, $2 || '.' || pg_catalog.current_database() || '.' || (extract(epoch from $3) * 1000000)::bigint || $4)
$$;

create function mbus4.headers_of(queue text, added timestamptz, headers {{.Hstore}}.hstore) returns {{.Hstore}}.hstore
language sql stable
as $$
    select {{.Hstore}}.hstore(array['source_db', pg_catalog.current_database()::text, 'destination_queue', $1,
                   'seenby', array[pg_catalog.current_database()::text]::text, 'enqueue_time', $2::text])
               operator({{.Hstore}}.||) coalesce($3, '')
               operator({{.Hstore}}.||) {{.Hstore}}.hstore('destination', $1)
$$;

-- As before, in one level: the selector is a filter of the index scan, in a CASE of which the planner expects
-- that most rows pass, and to the limit something is added that it cannot see to be zero, or it would fetch and
-- sort a whole backlog. Whether a message waits for another is for the caller to check.
--
-- Parsing and planning is what it costs, so a selector that asks only for what a message's row holds as such,
-- as t.data->'x', is asked of the row itself. Names that mean something else in the table, or t as a whole (t,
-- t.*, U&"\0074"), take the other text, whose t has exactly the columns of a message; the table's own have other
-- names there, so that in the selector a name without t means the message's.
create or replace function mbus4.candidates_sql(queue text, consumer_id int, low timestamptz, now timestamptz, selector text, most bigint)
returns text
language sql stable
as $$
    select pg_catalog.format(
        case when $5 ~* '[&*]|[[:<:]]t[[:>:]](?![[:space:]]*[.])|added|iid|delayed_until|expires|headers|consumer_id|available_at|after|ctid|tableoid|[cx]m(in|ax)'
        then $mbus4$
        select pg_catalog.array_to_tsvector(array[m.ctid::pg_catalog.text])
        from mbus4.message m (mbus4_id, mbus4_consumer_id, mbus4_available_at, mbus4_added, mbus4_iid, mbus4_delayed_until, mbus4_expires,
            mbus4_received, mbus4_headers, mbus4_properties, mbus4_data, mbus4_after)
        cross join lateral (
            select m.mbus4_id as id, m.mbus4_added::timestamp as added, mbus4.iid_of(m.mbus4_iid, %1$L, m.mbus4_available_at, m.mbus4_id) as iid,
                   m.mbus4_delayed_until::timestamp as delayed_until, m.mbus4_expires::timestamp as expires, m.mbus4_received as received,
                   mbus4.headers_of(%1$L, m.mbus4_added, m.mbus4_headers) as headers, m.mbus4_properties as properties, m.mbus4_data as data
        ) t
        where m.mbus4_consumer_id = %2$s
          and (m.mbus4_available_at, m.mbus4_id) >= (%3$L::timestamptz, 0)
          and m.mbus4_available_at <= %4$L::timestamptz
          and (case when m.mbus4_expires <= %4$L::timestamptz then null
                    when (%7$s%5$s%7$s) then 0 end) is not null
        order by m.mbus4_available_at, m.mbus4_id
        limit %6$s + pg_catalog.pg_is_in_recovery()::int
        $mbus4$ else $mbus4$
        select pg_catalog.array_to_tsvector(array[t.ctid::pg_catalog.text])
        from mbus4.message t
        where t.consumer_id = %2$s
          and (t.available_at, t.id) >= (%3$L::timestamptz, 0)
          and t.available_at <= %4$L::timestamptz
          and (case when t.expires <= %4$L::timestamptz then null
                    when (%7$s%5$s%7$s) then 0 end) is not null
        order by t.available_at, t.id
        limit %6$s + pg_catalog.pg_is_in_recovery()::int
        $mbus4$ end,
        $1, $2, $3, $4, coalesce(nullif(pg_catalog.btrim($5, E' \t\r\n'), ''), 'true'), $6, E'\n')
$$;
