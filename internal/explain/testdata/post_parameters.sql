# prepared
select mbus4.post($1, $2, properties => $3)
----
-- for a database without messages that wait for others, hstore in schema public; --admin names one to look at
-- line 1, column 8: mbus4.post(qname text, data hstore default null, headers hstore default null, properties hstore default null, delayed_until timestamp without time zone default null, expires timestamp without time zone default null, iid text default null, unique_key text default null, unique_for interval default null, payload jsonb default null) returns text
--   inline, by WITH queries
-- the server gets:
with mbus4_call1_args(n, "qname", "data", "headers", "properties", "delayed_until", "expires", "iid") as (
    select 1::bigint, ($1)::pg_catalog.text, ($2)::public.hstore, null::mbus4_hstore.hstore, ($3)::public.hstore,
        null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text
),
mbus4_call1_stored as (
    insert into mbus4.message as m (id, consumer_id, available_at, added, expires, properties, data)
    select w.id,
        pg_catalog.unnest(
            case
                when w.consumers <> '{}' and pg_catalog.array_position(w.consumers, null) is null then w.consumers
                else mbus4.at_subscribers_276b417f(
                    '1 _session_secret_', w.queue, w.id, w.added, null, w.delayed_until, w.expires, null, w.properties, w.data,
                    null, true
                )
            end
        ),
        w.added, w.added, w.expires, w.properties, w.data
    from (
        select case
            when pg_catalog.pg_try_advisory_xact_lock_shared(
                1835169140, pg_catalog.hashtext(pg_catalog.lower(a.qname collate "C")) & 63
            )
                then pg_catalog.nextval('mbus4.post_id')
            when pg_catalog.nextval('mbus4.message_id') > 0 then pg_catalog.nextval('mbus4.post_id')
        end as id,
            pg_catalog.clock_timestamp() as added,
            array(
                select case when c.target is null and c.selector_id is null then c.id end
                from mbus4.consumer c
                where c.qname = pg_catalog.lower(a.qname collate "C")
            ) as consumers,
            pg_catalog.lower(a.qname collate "C") as queue,
            a.delayed_until::timestamptz as delayed_until,
            a.expires::timestamptz as expires, a.properties, a.data as data
        from mbus4_call1_args a
        offset 0
    ) w
    returning pg_catalog.lower(($1)::pg_catalog.text collate "C") || '.' || pg_catalog.current_database() || '.' || case
        when m.available_at < '2038-01-01Z' then (pg_catalog.date_part('epoch', m.available_at) * 1000000)::bigint::text
        when m.available_at < '2200-01-01Z' then (extract(epoch from m.available_at) * 1000000)::bigint::text
        else ''
    end || m.id as iid
),
mbus4_call1 as (
    select 1::bigint as n,
        coalesce(
            (select s.iid from mbus4_call1_stored s limit 1),
            pg_catalog.lower(($1)::pg_catalog.text collate "C") || '.' || pg_catalog.current_database() || '.' || (
                extract(epoch from pg_catalog.clock_timestamp()) * 1000000
            )::bigint || pg_catalog.nextval('mbus4.post_id')
        ) as post
)
select "post" as "post"
from mbus4_call1;
