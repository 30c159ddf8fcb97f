-- Puts messages of dmq back to where they came from, the oldest first, with the queue that their header destination names and, where it is known, the
-- consumer: those of one queue, or that a selector selects, or all; $4 at most. Gives their number. Those stay whose queue or consumer is gone, that have
-- expired, that nobody selects any more, or that were posted again under their iid: a NOTICE counts them, by what is in the way. A queue that is not there, and
-- from which nothing came, is an error. call is the call's mark.
--
-- Each is looked for by itself, from where the last one stood, until so many can go: no more are locked. What a selector selects is read before:
-- pg_catalog.ts_stat is how an expression runs a text of SQL. A CASE around IN keeps it from becoming a join: it is looked up in a hash table.
create or replace function {{.Signature}} returns bigint language sql volatile
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $mbus4$
    with recursive asked as materialized (
        select pg_catalog.lower($2 collate "C") as queue, s.condition, {{template "hint" .With "Number" "coalesce(c.hint, 1)"}} as low
        from (select $3 as text) a
        {{template "selector_row" .With "Selector" "a.text"}} and pg_catalog.btrim(a.text, E' \t\r\n') <> ''
        join mbus4.consumer c on c.id = 1
        where case when $4 < 0 then pg_catalog.left(pg_catalog.format('mbus4-error {{.MarkOf ""}} 2201W the number of messages must not be negative, but it is %s', $4), 2000)::int = 0
                   when s.id is null and pg_catalog.btrim(a.text, E' \t\r\n') <> '' then mbus4.no_selector($1, $3) = 0
                   else true end
    ), selected as materialized (
        select w.word::pg_catalog.text::pg_catalog.tid as place
        from asked a
        cross join lateral pg_catalog.ts_stat(pg_catalog.format($text$
            select pg_catalog.array_to_tsvector(array[m.ctid::pg_catalog.text])
            from mbus4.message m
            cross join lateral (select ({{template "message" .With "Row" "m" "Queue" "'dmq'"}}).* offset 0) t
            where m.consumer_id = 1 and m.available_at <= pg_catalog.clock_timestamp() and (%s) = 1$text$, a.condition)) w
        where a.condition is not null
    ), looked (n, at, id, can_go, place, queue, iid, stays, new, now, expires, headers, properties, data, deps, ids) as (
        select 0::bigint, a.low, 0::bigint, 0::bigint, null::pg_catalog.tid, null::pg_catalog.text, null::pg_catalog.text collate "C", null::pg_catalog.text, null::bigint, null::pg_catalog.timestamptz, null::pg_catalog.timestamptz,
               (null::mbus4.message).headers, (null::mbus4.message).properties, (null::mbus4.message).data, null::pg_catalog.text[], null::bigint[]
        from asked a
        union all
        select l.n + 1, m.available_at, m.id, l.can_go + case when w.stays is null then 1 else 0 end, m.place, d.queue, d.own_iid, w.stays, i.new, t.now, m.expires,
               h.headers, m.properties, m.data, d.deps, g.ids
        from looked l
        cross join lateral (
            select m.ctid as place, m.*
            from mbus4.message m
            where m.consumer_id = 1 and (m.available_at, m.id) > (l.at, l.id) and m.available_at <= pg_catalog.clock_timestamp()
              and case when (select a.queue from asked a) is null then m.headers operator({{.Hstore}}.->) 'destination'::pg_catalog.text is not null
                       else m.headers operator({{.Hstore}}.->) 'destination'::pg_catalog.text = (select a.queue from asked a) end
              and ((select a.condition from asked a) is null or m.ctid in (select s.place from selected s))
            order by m.available_at, m.id
            limit 1
            for update skip locked
        ) m
        cross join lateral (
            select m.headers operator({{.Hstore}}.->) 'destination'::pg_catalog.text as queue, m.headers operator({{.Hstore}}.->) 'dmq.consumer'::pg_catalog.text as consumer,
                   coalesce(m.headers operator({{.Hstore}}.->) 'dmq.iid'::pg_catalog.text, {{template "row_iid" .With "Row" "m" "Queue" "'dmq'"}}) as own_iid,
                   m.headers operator({{.Hstore}}.-) array['destination', 'dmq.added', 'dmq.error', 'dmq.consumer', 'dmq.iid', 'retry.attempt', 'retry.first', 'retry.last', 'retry.error'] as kept,
                   nullif(m.headers operator({{.Hstore}}.->) 'seenby'::pg_catalog.text, array[pg_catalog.current_database()::pg_catalog.text]::pg_catalog.text) as seen,
                   m.headers operator({{.Hstore}}.->) 'consume_after'::pg_catalog.text as wanted, mbus4.array_of(m.headers operator({{.Hstore}}.->) 'consume_after'::pg_catalog.text) as deps
            offset 0
        ) d
        cross join lateral (
            select case when d.queue = 'dmq' or not exists (select from mbus4.queue q where q.qname = d.queue) then 'gone'
                        when m.expires <= pg_catalog.clock_timestamp() then 'expired'
                        when d.seen is not null and mbus4.array_of(d.seen) is null or d.wanted is not null and d.deps is null then 'taken' end as no_way,
                   case when d.seen is null then d.kept operator({{.Hstore}}.-) 'seenby'::pg_catalog.text
                        else d.kept operator({{.Hstore}}.||) {{.Hstore}}.hstore('seenby'::pg_catalog.text, pg_catalog.array_append(mbus4.array_of(d.seen), pg_catalog.current_database()::pg_catalog.text)::pg_catalog.text) end as headers
            offset 0
        ) h
        cross join lateral (select case when h.no_way is null then {{template "message_id" .With "Queue" "d.queue" "Once" ""}} end as new offset 0) i
        cross join lateral (select case when i.new > 0 then pg_catalog.clock_timestamp() end as now offset 0) t
        cross join lateral (
            select case when h.no_way is null then array(
                select c.id
                from mbus4.consumer c
                where c.qname = d.queue and c.target is null
                  and case when d.consumer is not null then c.name = d.consumer
                           when c.selector_id is null then true
                           else mbus4.receives(c, d.queue, i.new, t.now, d.own_iid, null, m.expires, h.headers, m.properties, m.data, null, false, null) end
            ) end as ids
            offset 0
        ) g
        cross join lateral (
            select case when h.no_way is not null then h.no_way
                        when pg_catalog.cardinality(g.ids) = 0 then case when d.consumer is null then 'unwanted' else 'gone' end
                        when not exists (
                            select from pg_catalog.unnest(g.ids) c (id)
                            where not exists (select from mbus4.message o where o.iid = d.own_iid and o.consumer_id = c.id and {{template "unexpired" .With "Row" "o"}})
                        ) then 'taken' end as stays
            offset 0
        ) w
        where $4 is null or l.can_go < $4
    ), going as materialized (
        select l.*, exists (select from pg_catalog.unnest(l.deps) d (iid) cross join lateral mbus4.undelivered(d.iid)) as parked
        from looked l
        where l.n > 0 and l.stays is null
    ), old as (
        delete from mbus4.message m
        using going g
        where m.iid = g.iid and m.consumer_id + 0 = any(g.ids) and m.expires <= g.now and m.consumer_id <> 1 and {{template "unleased" .With "Row" "m"}}
        returning 1
    ), stored as (
        insert into mbus4.message (id, consumer_id, available_at, added, iid, expires, headers, properties, data, after)
        select g.new, c.id, case when g.parked then 'infinity' else g.now end, g.now, g.iid, g.expires, g.headers, g.properties, g.data, case when pg_catalog.cardinality(g.deps) > 0 then g.deps end
        from going g
        cross join pg_catalog.unnest(g.ids) c (id)
        where (select pg_catalog.count(*) from old) >= 0
          and (
            select 1
            from mbus4.places_of_iid(g.iid) i
            join mbus4.message o on o.consumer_id = c.id and o.available_at = i.available_at and o.id = i.id
            where i.queue = g.queue and o.iid is null
            for key share of o) is null
        on conflict (iid, consumer_id) where iid is not null do nothing
        returning id, consumer_id
    ), went as materialized (
        select g.place from going g where case when g.new in (select s.id from stored s) then true end
    ), waits as (
        insert into mbus4.waiting (dep, consumer_id, id)
        select d.dep, c.id, g.new
        from going g
        cross join pg_catalog.unnest(g.deps) d (dep)
        cross join pg_catalog.unnest(g.ids) c (id)
        where g.parked and d.dep is not null and case when (g.new, c.id) in (select s.id, s.consumer_id from stored s) then true end
        on conflict do nothing
    ), removed as (
        delete from mbus4.message m where m.ctid = any(array(select w.place from went w))
    ), counted as (
        select pg_catalog.count(*) filter (where l.n > 0) as looked, pg_catalog.count(*) filter (where l.stays = 'gone') as gone, pg_catalog.count(*) filter (where l.stays = 'expired') as expired,
               pg_catalog.count(*) filter (where l.stays = 'unwanted') as unwanted, pg_catalog.count(*) filter (where l.n > 0 and coalesce(l.stays, 'taken') = 'taken') - g.went as taken, g.went
        from looked l
        cross join (select pg_catalog.count(*) as went from went) g
        group by g.went
    ), told as (
        select c.looked, c.went, nullif(pg_catalog.concat_ws(', ', nullif(c.gone, 0)::pg_catalog.text || ' whose queue or consumer is gone', nullif(c.expired, 0)::pg_catalog.text || ' that expired',
                   nullif(c.unwanted, 0)::pg_catalog.text || ' that no consumer selects', nullif(c.taken, 0)::pg_catalog.text || ' whose iid the consumer has again or whose headers cannot be read'), '') as staying
        from counted c
    )
    select case when t.looked = 0 and $2 is not null and not exists (select from mbus4.queue q where q.qname = pg_catalog.lower($2 collate "C"))
                    then pg_catalog.left(pg_catalog.format('mbus4-error {{.MarkOf ""}} 42704 queue "%s" does not exist', $2), 2000)::int
                when t.staying is null or {{template "notice" .With "Text" "'00000 messages that stay in dmq: ' || t.staying"}} then t.went end
    from told t
$mbus4$
