select mbus4.post('orders', 'id=>1', 'Redeploy=>true')
----
-- for a database without messages that wait for others; --admin names one to look at
-- line 1, column 8: mbus4.post(qname text, data hstore default null, headers hstore default null, properties hstore default null, delayed_until timestamp without time zone default null, expires timestamp without time zone default null, iid text default null, unique_key text default null, unique_for interval default null, payload jsonb default null) returns text
--   inline, by WITH queries
-- sent again and again, it is run by a statement that is prepared in the session, in which these literals are parameters: 'orders', 'id=>1', 'Redeploy=>true'
-- the server gets:
with mbus4_call1_args(n, "qname", "data", "headers", "properties", "delayed_until", "expires", "iid") as (
    select 1::bigint, ('orders')::pg_catalog.text,
        (row('id=>1')::mbus4_hstore.given).value,
        (row('Redeploy=>true')::mbus4_hstore.given).value,
        null::mbus4_hstore.hstore, null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text
),
mbus4_call1_posted as materialized (
    select w.*,
        case when w.delayed_until > w.added and w.queue <> 'dmq' then w.delayed_until else w.added end as at,
        case
            when (w.headers is null or not w.headers operator(mbus4_hstore.?|) array['seenby', 'consume_after', 'Redeploy'])
                then null
            else mbus4.at_post_given_361e6977(
                '1 _session_secret_', w.queue, w.id, w.added, w.given, w.delayed_until, w.expires, w.headers, w.properties,
                w.data, null, false
            )
        end as done
    from (
        select a.n,
            case
                when pg_catalog.pg_try_advisory_xact_lock_shared(
                    1835169140, pg_catalog.hashtext(pg_catalog.lower(a.qname collate "C")) & 63
                )
                    then pg_catalog.nextval('mbus4.post_id')
                when pg_catalog.nextval('mbus4.message_id') > 0 then pg_catalog.nextval('mbus4.post_id')
            end as id,
            pg_catalog.clock_timestamp() as added,
            pg_catalog.lower(a.qname collate "C") as queue,
            a.iid as given, a.headers as headers,
            a.delayed_until::pg_catalog.timestamptz as delayed_until,
            a.expires::pg_catalog.timestamptz as expires,
            a.properties, a.data as data
        from mbus4_call1_args a
        offset 0
    ) w
    offset 0
),
mbus4_call1_stored as (
    insert into mbus4.message (id, consumer_id, available_at, added, iid, delayed_until, expires, headers, properties, data)
    select p.id, consumer_id, p.at, p.added,
        coalesce(
            p.given,
            case
                when case
                    when p.delayed_until > p.added and p.queue <> 'dmq' then p.delayed_until
                    else p.added
                end >= '2200-01-01Z'
                    then p.queue || '.' || pg_catalog.current_database()::pg_catalog.text || '.' || p.id::pg_catalog.text
            end
        ),
        p.delayed_until, p.expires, p.headers, p.properties, p.data
    from mbus4_call1_posted p
    left join lateral (
        select c.id as consumer_id, case when c.selector_id is not null or c.target is not null then c end as rest
        from mbus4.consumer c
        where c.qname = p.queue
        offset 0
    ) c on true
    where p.done is null
        and coalesce(
            case
                when consumer_id is not null
                    then rest is null
                    or case
                        when (rest).target is null
                            and not (rest).general
                            then mbus4.has_asked(rest, p.queue, p.added, p.headers, p.properties, p.data) is true
                        else mbus4.receives(
                            rest, p.queue, p.id, p.added, coalesce(p.given), p.delayed_until, p.expires, p.headers, p.properties,
                            p.data, null, false, null
                        )
                    end
            end,
            mbus4.at_post_given_361e6977(
                '1 _session_secret_', p.queue, p.id, p.added, null, p.delayed_until, p.expires, p.headers, p.properties, p.data,
                null, false
            ) is null
        )
),
mbus4_call1 as (
    select p.n,
        coalesce(
            p.done, p.given,
            p.queue || '.' || pg_catalog.current_database()::pg_catalog.text || '.' || case
                when p.at < '2038-01-01Z'
                    then (pg_catalog.date_part('epoch', p.at) * 1000000::pg_catalog.float8)::bigint::pg_catalog.text
                when p.at < '2200-01-01Z' then (extract(epoch from p.at) * 1000000::numeric)::bigint::pg_catalog.text
                else ''
            end || p.id::pg_catalog.text
        ) as post
    from mbus4_call1_posted p
)
select (select "post" as "post" from mbus4_call1);
