-- Posts a message that was consumed, or removed, for a consumer to dmq, under its iid, so that who waits for it goes on waiting. Where dmq has one
-- under the iid already, that of another consumer, it gets an iid of its own there and says the other in its headers. Triggers copy it. call is the call's mark.
create or replace function {{.Signature}} returns void language sql volatile
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $mbus4$
    with dead as materialized (
        select ($2).iid as iid, ($2).delayed_until::pg_catalog.timestamptz as delayed_until, ($2).expires::pg_catalog.timestamptz as expires, ($2).properties as properties, ($2).data as data,
               ($2).headers operator({{.Hstore}}.||) {{.Hstore}}.hstore(array['dmq.added', mbus4.time_text(pg_catalog.clock_timestamp()::timestamp), 'dmq.error', $4, 'dmq.consumer', $3]) as headers,
               {{template "message_id" .With "Queue" "'dmq'" "Once" ""}} as id
    ), timed as materialized (
        select d.*, case when d.id > 0 then pg_catalog.clock_timestamp() end as now from dead d
    ), under_iid as (
        insert into mbus4.message (id, consumer_id, available_at, added, iid, delayed_until, expires, headers, properties, data)
        select t.id, 1, t.now, t.now, t.iid, t.delayed_until, t.expires, t.headers, t.properties, t.data
        from timed t
        where (
            select 1
            from mbus4.places_of_iid(t.iid) i
            join mbus4.message o on o.consumer_id = 1 and o.available_at = i.available_at and o.id = i.id
            where i.queue = 'dmq' and o.iid is null
            for key share of o) is null
        on conflict (iid, consumer_id) where iid is not null do nothing
        returning id
    ), under_own as (
        insert into mbus4.message (id, consumer_id, available_at, added, delayed_until, expires, headers, properties, data)
        select t.id, 1, t.now, t.now, t.delayed_until, t.expires, t.headers operator({{.Hstore}}.||) {{.Hstore}}.hstore('dmq.iid'::pg_catalog.text, t.iid), t.properties, t.data
        from timed t
        where not exists (select from under_iid)
    ), copied as materialized (
        select mbus4.receives(c, 'dmq', t.id, t.now, t.iid, t.delayed_until, t.expires, t.headers, t.properties, t.data, null, false, null)
        from timed t
        join mbus4.consumer c on c.qname = 'dmq' and c.target is not null
        where (t.headers operator({{.Hstore}}.->) 'Redeploy'::pg_catalog.text ~* '^ *(t|tr|tru|true|y|ye|yes|on|1) *$') is not true
    )
    select from copied
$mbus4$
