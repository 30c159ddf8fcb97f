-- The addresses of the first messages of a consumer that meet a selector. $1: the consumer, with the
-- selector and where to look, $2: how many. What follows selects is read as the session reads it.
array(
    select w.word::text::tid
    from pg_catalog.ts_stat(pg_catalog.format($mbus4$
        select ('''' || m.ctid::pg_catalog.text || '''')::pg_catalog.tsvector
        from mbus4.message m
        cross join lateral (
            select m.id, m.added::timestamp as added, coalesce(m.iid, {iid:%1$L;m.available_at;m.id}) as iid,
                   m.delayed_until::timestamp as delayed_until, m.expires::timestamp as expires, m.received,
                   {headers:%1$L::pg_catalog.text;m.added} operator({hstore}.||) coalesce(m.headers, '')
                       operator({hstore}.||) {hstore}.hstore('destination', %1$L) as headers,
                   m.properties, m.data
        ) t
        where m.consumer_id = %2$s
          and (m.available_at, m.id) >= (%3$L::timestamptz, 0)
          and m.available_at <= %4$L::timestamptz
          and {deliverable:m;%4$L::timestamptz}
          and (%7$s%5$s%7$s)
        order by m.available_at, m.id
        limit %6$s
    $mbus4$, $1.queue, $1.id, $1.low, $1.now, $1.selector, $2, E'\n')) w)
