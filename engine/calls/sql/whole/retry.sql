-- Puts a message back: that of a lease, or one that this transaction has consumed. It comes again after a pause, or goes to dmq after the last
-- attempt. False where the lease is gone, or the message was not consumed; so it is for a row of nulls, which take and peek give where there is no
-- message. call is the call's mark.
--
-- The id comes before the clock: from then on the hinter knows of the message (engine/housekeeping/hinter.go). The attempts at a message of a lease are
-- counted already, those at one that was consumed are counted here. Who consumed it for another consumer and does not say so would lose it there with the
-- commit, and so gets an error where "default" has it still.
create or replace function {{.Signature}} returns boolean language sql volatile
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $mbus4$
    with asked as materialized (
        select {{template "lease_parts" .With "Lease" "($2).lease" "Args" ""}} as part, ($2).message as message, {{template "told" .}} as told
    ), given as materialized (
        select a.part, a.message, a.told, pg_catalog.lower((a.message).headers operator({{.Hstore}}.->) 'destination'::pg_catalog.text collate "C") as queue
        from asked a
        where case
            when a.part is not null and $5 is not null
                then pg_catalog.left(pg_catalog.format('mbus4-error {{.MarkOf ""}} 22023 cname must not be given together with a lease, but is %s', pg_catalog.quote_ident($5)), 2000)::int
            when a.part is not null then 1
            when a.message is null then 0
            when (a.message).id is null or (a.message).iid is null or (a.message).added is null
                then pg_catalog.left(pg_catalog.format('mbus4-error {{.MarkOf ""}} 22004 this row is not a message: id, iid or added is null'), 2000)::int
            else 1 end = 1
    ), leased as materialized (
        select m.consumer_id, m.available_at, m.id, g.part[3]::int as attempt
        from given g
        join mbus4.message m on m.consumer_id = g.part[1]::bigint and m.available_at = {{template "lease_end" .With "Part" "g.part[4]"}} and m.id = g.part[2]::bigint
        where {{template "held" .With "Row" "m" "Attempt" "g.part[3]"}}
        for update of m
    ), consumed as materialized (
        select c as consumer, g.message, {{template "attempted" .With "Headers" "(g.message).headers" "Time" "g.told"}} as headers
        from given g
        left join mbus4.consumer c on c.qname = g.queue and c.name = pg_catalog.lower(coalesce($5, 'default') collate "C")
        where g.part is null and case
            when c.id is null then
                case when exists (select from mbus4.queue q where q.qname = g.queue)
                     then pg_catalog.left(pg_catalog.format('mbus4-error {{.MarkOf ""}} 42704 queue "%s" has no consumer "%s"', g.queue, coalesce($5, 'default')), 2000)
                     else pg_catalog.left(pg_catalog.format('mbus4-error {{.MarkOf ""}} 42704 queue %s does not exist', coalesce('"' || g.queue || '"', 'null')), 2000) end::int
            when not exists (select from mbus4.message m where m.iid = (g.message).iid and m.consumer_id = c.id)
                 and not exists (select from mbus4.places_of_iid((g.message).iid) p
                                 join mbus4.message m on m.consumer_id = c.id and m.available_at = p.available_at and m.id = p.id
                                 where p.queue = g.queue and m.iid is null) then 1
            when $5 is null and exists (select from mbus4.consumer o where o.qname = g.queue and o.target is null and o.id <> c.id)
                then pg_catalog.left(pg_catalog.format('mbus4-error {{.MarkOf ""}} 42725 consumer "default" of queue "%s" still has message "%s"', g.queue, (g.message).iid), 2000)::int
            else 0 end = 1
    ), tried as materialized (
        select s.*, {{template "pause" .With "Given" "$4" "Row" "(s.consumer)" "Attempt" "s.attempt"}} as pause,
               s.attempt >= {{template "policy" .With "Row" "(s.consumer)" "What" "max_attempts"}} and (s.consumer).id <> 1 as over
        from (
            select true as leased, c as consumer, l.attempt, l.available_at, l.id, null::mbus4.qt_model as message, (null::mbus4.qt_model).headers as headers
            from leased l
            join mbus4.consumer c on c.id = l.consumer_id
            union all
            select false, c.consumer, (c.headers operator({{.Hstore}}.->) 'retry.attempt'::pg_catalog.text)::int, null, (c.message).id, c.message, c.headers
            from consumed c
        ) s
    ), spent as materialized (
        select {{.Spent}}($1, (t.consumer).id, t.available_at, t.id, coalesce(pg_catalog.left($3, 2000), 'retried without an error')) as was
        from tried t
        where t.over and t.leased
    ), buried as materialized (
        select {{.Bury}}($1, row(t.id, (t.message).added, (t.message).iid, (t.message).delayed_until, (t.message).expires, (t.message).received, t.headers, (t.message).properties, (t.message).data)::mbus4.qt_model,
            (t.consumer).name, coalesce(pg_catalog.left($3, 2000), 'retried without an error'))
        from tried t
        where t.over and not t.leased
    ), drawn as materialized (
        select t.*, {{template "message_id" .With "Queue" "(t.consumer).qname" "Once" ""}} as new
        from tried t
        where not t.over
    ), timed as materialized (
        select d.*, case when d.new > 0 then pg_catalog.clock_timestamp() + d.pause end as at,
               case when $3 is null then '' else {{.Hstore}}.hstore('retry.error'::pg_catalog.text, pg_catalog.left($3, 2000)) end as error
        from drawn d
    ), moved as (
        update mbus4.message m
        set available_at = t.at, delayed_until = t.at, headers = m.headers operator({{.Hstore}}.||) t.error
        from timed t
        where t.leased and m.consumer_id = (t.consumer).id and m.available_at = t.available_at and m.id = t.id
        returning 1
    ), put as (
        insert into mbus4.message (id, consumer_id, available_at, added, iid, delayed_until, expires, headers, properties, data)
        select t.id, (t.consumer).id, t.at, (t.message).added, (t.message).iid, t.at, (t.message).expires, t.headers operator({{.Hstore}}.||) t.error, (t.message).properties, (t.message).data
        from timed t
        where not t.leased
        returning 1
    )
    select (select pg_catalog.count(*) from spent s where s.was) + (select pg_catalog.count(*) from buried) + (select pg_catalog.count(*) from moved) + (select pg_catalog.count(*) from put) > 0
$mbus4$
