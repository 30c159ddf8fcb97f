-- What is in the queues, for whoever looks: what open transactions hold, what is dead, each message of a consumer, and how fast all of it moves.

-- Whether a transaction, or a savepoint's, has not ended: one that is the xmax of a row which is there has deleted or locked it. base: what
-- pg_snapshot_xmax gave. open: the ids that are locked by those who have them; they tell of ids that came after the snapshot.
-- The id of a group of lockers (a multixact) looks like that of a transaction that ended long ago, or, by chance, of one that has not. The server
-- fails where it is asked about an id that was not given out yet, as such a group's may be: it is not asked.
create function mbus4.is_open(xmax xid, base bigint, open xid[]) returns boolean
language sql volatile
as $$
    select case when $1 = '0'::pg_catalog.xid then false
                when $2 + ((($1::pg_catalog.text::bigint - $2 + 2147483648) & 4294967295) - 2147483648) <= 2 then false
                when $2 + ((($1::pg_catalog.text::bigint - $2 + 2147483648) & 4294967295) - 2147483648) < $2 or pg_catalog.age($1) > 0
                    then coalesce(pg_catalog.pg_xact_status(($2 + ((($1::pg_catalog.text::bigint - $2 + 2147483648) & 4294967295) - 2147483648))::pg_catalog.text::pg_catalog.xid8) = 'in progress', false)
                else $1 = any($3) end
$$;

-- The state of a message that is there, as far as its row says it.
create function mbus4.state_of(consumer_id bigint, available_at timestamptz, delayed_until timestamptz, expires timestamptz, headers {{.Hstore}}.hstore,
    held boolean, now timestamptz) returns text
language sql immutable
as $$
    select case when $2 > $7 and $2 < 'infinity' and not $6 and mbus4.is_leased($2, $3, $5) then 'leased'
                when $4 <= $7 and $1 <> 1 then 'expired'
                when $6 then 'held'
                when $2 = 'infinity' then 'waiting'
                when $2 > $7 then 'delayed'
                else 'ready' end
$$;

-- What each consumer is still to get, by when: ready, delayed, waiting for others, leased, held by open transactions, which counts as nothing else; and what is dead.
-- oldest_ready is since when the first one is ready. exact says that all were counted; else some are estimated from a sample of the table's pages. A queue without
-- consumers has a row as well, its consumer is null. dead is what lies in dmq and names the consumer, or no consumer and this is the default one, as which run_on_<q> works;
-- queue_dead what names the queue.
--
-- The first few messages of a consumer are read along the primary key, and the first few of those that are for later; few is a hundred, or less where
-- there are more than 100 consumers, down to ten. What is so many that this did not come to its end is estimated from a sample of 200 of the
-- table's pages; where that has more of a consumer's than a few, and nobody can hold any, the first one is enough. Of dmq the first thousand are
-- read. So what each consumer costs has a bound. A table of no more pages is read as a whole.
create function mbus4.states_of_consumers(out queue text, out consumer text, out selector text, out ready bigint, out delayed bigint,
    out waiting bigint, out leased bigint, out held bigint, out dead bigint, out queue_dead bigint, out oldest_ready timestamptz, out paused boolean, out exact boolean)
returns setof record
language sql volatile rows 1000
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set enable_nestloop = off
set enable_mergejoin = off
set enable_sort = off
set jit = off
as $$
    with sampled as materialized (
        select least(100, 20000.0 / greatest(p.pages, 1)) as percent, p.pages <= 200 as whole, clock_timestamp() as now,
               pg_snapshot_xmax(pg_current_snapshot())::pg_catalog.text::bigint as base,
               array(select l.transactionid from pg_locks l where l.locktype = 'transactionid' and l.mode = 'ExclusiveLock' and l.granted) as open,
               exists (
                   select from pg_locks l
                   where l.relation = 'mbus4.message'::pg_catalog.regclass and l.database = (select d.oid from pg_database d where d.datname = current_database())
                     and l.mode <> 'AccessShareLock' and l.granted and l.pid is distinct from pg_backend_pid()
               ) as used,
               least(100, greatest(10, 10000 / greatest((select count(*) from mbus4.consumer c where c.target is null), 1))) as few
        from (select pg_relation_size('mbus4.message'::pg_catalog.regclass) / current_setting('block_size')::int as pages) p
    ), counted as materialized (
        select n.consumer_id, n.state, n.messages as sampled, (n.messages * 100 / s.percent)::bigint as messages, n.first
        from (
            select m.consumer_id, mbus4.state_of(m.consumer_id, m.available_at, m.delayed_until, m.expires, m.headers, m.held, m.now) as state,
                   count(*) as messages, min(m.available_at) as first
            from (
                select m.consumer_id, m.available_at, m.delayed_until, m.expires, m.headers, mbus4.is_open(m.xmax, s.base, s.open) as held, s.now
                from sampled s
                cross join lateral (
                    select m.consumer_id, m.available_at, m.delayed_until, m.expires, m.headers, m.xmax
                    from mbus4.message m tablesample system (s.percent) repeatable (0)
                ) m
                offset 0
            ) m
            group by 1, 2
        ) n
        cross join sampled s
    ), seen as materialized ( -- one or two held ones are no measure of others: these stand at the head, where they are counted
        select n.consumer_id, sum(n.sampled) as sampled,
               sum(n.messages) filter (where n.state = 'ready') as ready, sum(n.messages) filter (where n.state = 'delayed') as delayed,
               sum(n.messages) filter (where n.state = 'waiting') as waiting, sum(n.messages) filter (where n.state = 'leased') as leased,
               sum(n.messages) filter (where n.state = 'held' and (n.sampled >= 3 or (select s.whole from sampled s))) as held,
               min(n.first) filter (where n.state = 'ready') as oldest_ready
        from counted n
        group by n.consumer_id
    ), told as materialized (
        select c.id, c.qname, c.name, c.selector, c.paused is not null as paused,
               case when not s.whole
                   then to_timestamp(coalesce(pg_sequence_last_value(('mbus4.hint_' || coalesce(c.hint, c.id % 128::bigint)::pg_catalog.text)::pg_catalog.regclass), 0)::pg_catalog.float8 / 1000000.0::pg_catalog.float8) end as low,
               coalesce(n.ready, 0) as ready, coalesce(n.delayed, 0) as delayed, coalesce(n.waiting, 0) as waiting, coalesce(n.leased, 0) as leased,
               coalesce(n.held, 0) as held, n.oldest_ready, coalesce(n.sampled, 0) > s.few as many
        from sampled s
        cross join mbus4.consumer c
        left join seen n on n.consumer_id = c.id
        where c.target is null
    ), first_dead as materialized (
        select m.headers operator({{.Bound}}.->) array['destination', 'dmq.consumer'] as origin
        from told d
        cross join lateral (
            select m.headers
            from mbus4.message m
            where m.consumer_id = d.id and m.available_at >= d.low
            order by m.available_at, m.id
            limit case when (select s.whole from sampled s) then 0 else 1001 end
        ) m
        where d.id = 1
    ), dead as materialized (
        select d.queue, d.consumer, max(d.messages) as messages
        from (
            select f.origin[1] as queue, coalesce(f.origin[2], 'default') as consumer, count(*) as messages
            from first_dead f
            group by 1, 2
            union all
            select n.origin[1], coalesce(n.origin[2], 'default'), (count(*) * 100 / n.percent)::bigint
            from (
                select m.headers operator({{.Bound}}.->) array['destination', 'dmq.consumer'] as origin, s.percent
                from sampled s
                cross join lateral (
                    select m.headers
                    from mbus4.message m tablesample system (s.percent) repeatable (0)
                    where m.consumer_id = 1 and (s.whole or (select count(*) from first_dead) > 1000)
                    offset 0
                ) m
            ) n
            group by 1, 2, n.percent
        ) d
        where d.queue is not null
        group by d.queue, d.consumer
    ), dead_of_queue as materialized (
        select d.queue, sum(d.messages)::bigint as messages from dead d group by d.queue
    )
    select t.qname, t.name, t.selector,
           case when s.whole then t.ready when f.some <= s.few and not t.many or f.later then f.ready else greatest(f.ready, t.ready) end::bigint,
           case when s.whole then t.delayed when f.some <= s.few and not t.many then f.delayed when l.some <= s.few or l.waiting > 0 then l.delayed else greatest(l.delayed, t.delayed) end::bigint,
           case when s.whole then t.waiting when f.some <= s.few and not t.many then f.waiting when l.some <= s.few then l.waiting when w.some <= s.few then w.waiting else greatest(w.waiting, t.waiting) end::bigint,
           case when s.whole then t.leased when f.some <= s.few and not t.many then f.leased when l.some <= s.few or l.waiting > 0 then l.leased else greatest(l.leased, t.leased) end::bigint,
           case when s.whole then t.held when f.some <= s.few and not t.many then f.held else greatest(f.due_held + case when l.some <= s.few then l.held else l.later_held + w.held end, t.held) end::bigint,
           coalesce(d.messages, 0)::bigint, coalesce(q.messages, 0)::bigint,
           coalesce(f.oldest_ready, t.oldest_ready), t.paused,
           (s.whole or f.some <= s.few and not t.many or f.later and (l.some <= s.few or l.waiting > 0 and w.some <= s.few))
               and (s.whole or t.qname = 'dmq' or (select count(*) from first_dead) <= 1000)
    from told t
    cross join sampled s
    cross join lateral (
        select count(*) as some, min(x.available_at) filter (where x.state = 'ready') as oldest_ready, coalesce(bool_or(x.available_at > s.now), false) as later,
               count(*) filter (where x.state = 'ready') as ready, count(*) filter (where x.state = 'delayed') as delayed,
               count(*) filter (where x.state = 'waiting') as waiting, count(*) filter (where x.state = 'leased') as leased, count(*) filter (where x.state = 'held') as held,
               count(*) filter (where x.state = 'held' and x.available_at <= s.now) as due_held
        from (
            select m.available_at, mbus4.state_of(t.id, m.available_at, m.delayed_until, m.expires, m.headers, m.held, s.now) as state
            from (
                select m.available_at, m.delayed_until, m.expires, m.headers, mbus4.is_open(m.xmax, s.base, s.open) as held
                from mbus4.message m
                where m.consumer_id = t.id and m.available_at >= t.low
                order by m.available_at, m.id
                limit case when s.whole then 0 when t.many and not s.used then 1 else s.few + 1 end
            ) m
        ) x
        offset 0
    ) f
    cross join lateral (
        select count(*) as some, count(*) filter (where x.state = 'delayed') as delayed,
               count(*) filter (where x.state = 'waiting') as waiting, count(*) filter (where x.state = 'leased') as leased, count(*) filter (where x.state = 'held') as held,
               count(*) filter (where x.state = 'held' and x.available_at < 'infinity') as later_held
        from (
            select m.available_at, mbus4.state_of(t.id, m.available_at, m.delayed_until, m.expires, m.headers, m.held, s.now) as state
            from (
                select m.available_at, m.delayed_until, m.expires, m.headers, mbus4.is_open(m.xmax, s.base, s.open) as held
                from mbus4.message m
                where m.consumer_id = t.id and m.available_at > s.now
                order by m.available_at, m.id
                limit case when s.whole or f.some <= s.few and not t.many then 0 else s.few + 1 end
            ) m
        ) x
        offset 0
    ) l
    cross join lateral (
        select count(*) as some, count(*) filter (where not x.held) as waiting, count(*) filter (where x.held) as held
        from (
            select mbus4.is_open(m.xmax, s.base, s.open) as held
            from mbus4.message m
            where m.consumer_id = t.id and m.available_at = 'infinity'
            order by m.available_at, m.id
            limit case when l.some > s.few then s.few + 1 else 0 end
        ) x
        offset 0
    ) w
    left join dead d on d.queue = t.qname and d.consumer = t.name
    left join dead_of_queue q on q.queue = t.qname
    union all
    select q.qname, null, null, 0, 0, 0, 0, 0, 0, coalesce(d.messages, 0), null, q.paused is not null, (select s.whole from sampled s) or (select count(*) from first_dead) <= 1000
    from mbus4.queue q
    left join dead_of_queue d on d.queue = q.qname
    where not exists (select from told t where t.qname = q.qname)
$$;
revoke all on function mbus4.states_of_consumers() from public;

create view mbus4.consumers as
select c.queue, c.consumer, c.ready, c.delayed, c.waiting, c.oldest_ready, c.exact, c.selector, c.leased, c.paused, c.held, c.dead, e.errors as selector_errors
from mbus4.states_of_consumers() c
left join mbus4.selector_error_counts() e on e.queue = c.queue and e.consumer = c.consumer
where c.consumer is not null;

-- The messages that the consumer with the most of a kind is still to get; what is dead, and selectors' errors, of all. A queue is paused when it is
-- so as a whole, or each of its consumers.
create view mbus4.queues as
select q.qname as queue, q.kind, coalesce(c.consumers, 0) as consumers, coalesce(c.ready, 0) as ready, coalesce(c.delayed, 0) as delayed,
       coalesce(c.waiting, 0) as waiting, c.oldest_ready, coalesce(c.exact, true) as exact, coalesce(c.leased, 0) as leased, coalesce(c.paused, q.paused is not null) as paused,
       coalesce(c.held, 0) as held, coalesce(c.dead, 0) as dead, c.selector_errors
from mbus4.queue q
left join (
    select c.queue, count(c.consumer) as consumers, max(c.ready) as ready, max(c.delayed) as delayed, max(c.waiting) as waiting, max(c.leased) as leased,
           min(c.oldest_ready) as oldest_ready, bool_and(c.exact) as exact, bool_and(c.paused) as paused, max(c.held) as held, max(c.queue_dead) as dead,
           sum(e.errors)::bigint as selector_errors
    from mbus4.states_of_consumers() c
    left join mbus4.selector_error_counts() e on e.queue = c.queue and e.consumer = c.consumer
    group by c.queue
) c on c.queue = q.qname
offset 0;

-- Who has deleted or locked a row with this xmax and has not ended: held says whether somebody has. Each transaction has a lock on its own id, and each savepoint that was
-- not released; of a released one it is known who has it where only one transaction can. gid: it is a prepared one. since: when it began, where the role may see that.
create function mbus4.holder_of(xmax xid, out held boolean, out pid int, out username text, out application text, out gid text, out since timestamptz)
language sql volatile
set search_path = pg_catalog, pg_temp
as $$
    with locked as materialized (
        select l.locktype, l.relation, l.database, l.transactionid, l.mode, l.virtualtransaction, l.pid from pg_locks l where $1 <> '0' and l.granted
    ), own as materialized (
        select l.transactionid, l.virtualtransaction, l.pid from locked l where l.locktype = 'transactionid' and l.mode = 'ExclusiveLock'
    ), asked as materialized (
        select mbus4.is_open($1, pg_snapshot_xmax(pg_current_snapshot())::pg_catalog.text::bigint, array(select o.transactionid from own o)) as held
    ), holder as materialized (
        select o.virtualtransaction, o.pid from own o, asked a where a.held and o.transactionid = $1
        union all
        select min(l.virtualtransaction), min(l.pid)
        from locked l, asked a
        where a.held and not exists (select from own o where o.transactionid = $1)
          and l.locktype = 'relation' and l.relation = 'mbus4.message'::pg_catalog.regclass and l.mode in ('RowShareLock', 'RowExclusiveLock')
          and l.database = (select d.oid from pg_database d where d.datname = current_database())
          and exists (select from own o where o.virtualtransaction = l.virtualtransaction and age(o.transactionid) > age($1))
        having count(distinct l.virtualtransaction) = 1
    )
    select a.held, h.pid, s.usename, s.application_name, x.gid, coalesce(s.xact_start, x.prepared)
    from asked a
    left join holder h on true
    left join pg_stat_activity s on s.pid = h.pid
    left join pg_prepared_xacts x on h.pid is null and x.transaction in (select o.transactionid from own o where o.virtualtransaction = h.virtualtransaction)
    limit 1
$$;
revoke all on function mbus4.holder_of(xid) from public;

-- Why a message is not delivered, see mbus4.reasons.
create type mbus4.reason as (
    queue       text,
    consumer    text,
    state       text, -- expired, held, waiting, delayed, dead or ready
    until       timestamptz, -- delayed: then it is ready; else when it expires
    detail      text,
    waits_for   text[], -- waiting: the iids of those that are undelivered
    pid         int, -- held: the session that has it; null for a prepared transaction
    username    text,
    application text
);

-- The copies of a message that are there, with the reason why each is not delivered. Rows are found by their iid or by what the iid says of
-- their place. What is delayed for ever is delayed, and nobody is to wake it.
create function mbus4.reasons(iid text) returns setof mbus4.reason
language sql volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
    select c.qname, c.name, s.state,
           case when s.state in ('delayed', 'leased') then m.available_at else m.expires end,
           case s.state
               when 'expired' then 'it is about to be removed'
               when 'held' then coalesce('the prepared transaction "' || h.gid || '" has it', 'an open transaction has consumed or locked it')
               when 'paused' then 'since ' || c.paused || '; mbus4.resume_queue(''' || c.qname || ''') lets the consumers go on'
               when 'leased' then 'attempt ' || (m.headers operator({{.Bound}}.->) 'retry.attempt'::pg_catalog.text)
               when 'waiting' then case when w.waits_for = '{}' then 'it is about to be woken' else 'the messages in waits_for come first' end
               when 'dead' then coalesce(m.headers operator({{.Bound}}.->) 'dmq.error'::pg_catalog.text, 'it lies in dmq until somebody consumes it')
               when 'ready' then (
                   select case when count(*) > 100 then 'more than 100' else count(*)::pg_catalog.text end || ' before it'
                   from (
                       select from mbus4.message o
                       where o.consumer_id = m.consumer_id and o.available_at >= to_timestamp(coalesce(pg_sequence_last_value(('mbus4.hint_' || coalesce(c.hint, c.id % 128::bigint)::pg_catalog.text)::pg_catalog.regclass), 0)::pg_catalog.float8 / 1000000.0::pg_catalog.float8)
                         and (o.available_at, o.id) < (m.available_at, m.id)
                       order by o.available_at, o.id
                       limit 101
                   ) b)
           end,
           case when s.state = 'waiting' then w.waits_for end,
           case when s.state = 'held' then h.pid end, case when s.state = 'held' then h.username end, case when s.state = 'held' then h.application end
    from (
        select m.consumer_id, m.available_at, m.id, m.expires, m.delayed_until, m.after, m.headers, m.xmax as holder from mbus4.message m where m.iid = $1
        union all
        select m.consumer_id, m.available_at, m.id, m.expires, m.delayed_until, m.after, m.headers, m.xmax
        from mbus4.places_of_iid($1) p
        join mbus4.consumer c on c.qname = p.queue
        join mbus4.message m on m.consumer_id = c.id and m.available_at = p.available_at and m.id = p.id
        where m.iid is null
    ) m
    join mbus4.consumer c on c.id = m.consumer_id
    cross join lateral mbus4.holder_of(m.holder) h
    cross join lateral (
        select array(select d.iid from unnest(m.after) d (iid) where mbus4.awaits_delivery(array[d.iid])) as waits_for offset 0
    ) w
    cross join lateral (
        select case when m.available_at > clock_timestamp() and m.available_at < 'infinity' and not h.held
                         and mbus4.is_leased(m.available_at, m.delayed_until, m.headers) then 'leased'
                    when m.expires <= clock_timestamp() and m.consumer_id <> 1 then 'expired'
                    when h.held then 'held'
                    when w.waits_for <> '{}' or m.available_at = 'infinity' and m.delayed_until is distinct from 'infinity' then 'waiting'
                    when m.available_at > clock_timestamp() then 'delayed'
                    when c.paused is not null then 'paused'
                    when m.consumer_id = 1 then 'dead'
                    else 'ready' end as state
    ) s
    order by c.qname, c.name
$$;
revoke all on function mbus4.reasons(text) from public;

-- What messages_of shows of a message.
create type mbus4.seen_message as (
    iid         text,
    state       text, -- ready, delayed, waiting, leased, held, expired or dead
    since       timestamptz, -- ready, dead: when it became so; held: when the transaction began, where that may be seen; delayed, waiting: when it was posted
    until       timestamptz, -- delayed: then it is ready; leased: then the lease ends; else when it expires
    detail      text, -- held by a prepared transaction: its name; dead: the error; without a state: why the search ended
    waits_for   text[], -- waiting: the iids that it was posted with
    attempt     int, -- how many attempts have begun, where there are leases or retries
    pid         int, -- held: the session that has it
    username    text,
    application text,
    added       timestamptz,
    headers     {{.Hstore}}.hstore,
    properties  {{.Hstore}}.hstore,
    data        {{.Hstore}}.hstore
);

-- The messages of a consumer in the order in which they become available: those in a state, or all; amt at most. Of state dead: those that it has in
-- dmq. It takes nothing and locks nothing. Messages in other states are passed over, ten thousand at most: where the search was given up for that, a last
-- row without iid and state says so in its detail.
create function mbus4.messages_of(qname text, cname text default 'default', state text default null, amt integer default 100) returns setof mbus4.seen_message
language sql volatile rows 100
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
    with asked as materialized (
        select c.*, clock_timestamp() as now, case when c.id is not null then 0 else current_setting(case
            when exists (select from mbus4.queue q where q.qname = lower($1 collate "C")) then format('queue "%s" has no consumer %s', $1, coalesce('"' || $2 || '"', 'null'))
            else format('queue %s does not exist', coalesce('"' || $1 || '"', 'null')) end)::int end as there
        from (select) one
        left join mbus4.consumer c on c.qname = lower($1 collate "C") and c.name = lower($2 collate "C") and c.target is null
    ), part as materialized ( -- of which consumer's messages, from when to when
        select c.id, c.qname, a.id as of, a.qname as queue, a.name as consumer, a.now,
               case when $3 in ('delayed', 'leased') then a.now
                    when $3 = 'waiting' then 'infinity'
                    else to_timestamp(coalesce(pg_sequence_last_value(('mbus4.hint_' || coalesce(c.hint, c.id % 128::bigint)::pg_catalog.text)::pg_catalog.regclass), 0)::pg_catalog.float8 / 1000000.0::pg_catalog.float8) end as first,
               case when $3 in ('delayed', 'leased') then '294276-12-31 23:59:59.999999Z' -- the last one before infinity
                    when $3 = 'ready' then a.now
                    else 'infinity' end::pg_catalog.timestamptz as last,
               coalesce($4, 100) + 10000::bigint as most, pg_snapshot_xmax(pg_current_snapshot())::pg_catalog.text::bigint as base,
               array(select l.transactionid from pg_locks l where l.locktype = 'transactionid' and l.mode = 'ExclusiveLock' and l.granted) as open
        from asked a
        join mbus4.consumer c on c.id = case when $3 = 'dead' then 1 else a.id end
        where a.there = 0
          and case when $3 not in ('ready', 'delayed', 'waiting', 'leased', 'held', 'expired', 'dead')
              then format('"%s" is not a state of messages: ready, delayed, waiting, leased, held, expired, dead', left($3, 100))::int is null else true end
    ), shown as materialized (
        select p.qname as place, m.*
        from part p
        cross join lateral (
            select m.*, case when p.id = 1 and m.state = 'ready' then 'dead' else m.state end as shown
            from (
                select m.*, mbus4.state_of(m.consumer_id, m.available_at, m.delayed_until, m.expires, m.headers, m.held, p.now) as state
                from (
                    select m.*, m.xmax as holder, mbus4.is_open(m.xmax, p.base, p.open) as held
                    from mbus4.message m
                    where m.consumer_id = p.id and m.available_at >= p.first and m.available_at <= p.last
                    order by m.available_at, m.id
                    limit p.most
                ) m
                offset 0
            ) m
        ) m
        where ($3 is null or m.shown = $3)
          and ($3 is distinct from 'dead' or p.of = 1
               or m.headers operator({{.Bound}}.->) 'destination'::pg_catalog.text = p.queue
                  and coalesce(m.headers operator({{.Bound}}.->) 'dmq.consumer'::pg_catalog.text, 'default') = p.consumer)
        limit coalesce($4, 100)
    ), holders as materialized (
        select s.holder, h.pid, h.username, h.application, h.gid, h.since
        from (select distinct s.holder from shown s where s.held) s
        cross join lateral mbus4.holder_of(s.holder) h
    )
    (select case when s.iid is not null or s.available_at < '2200-01-01Z' -- else it is none of ours
                 then mbus4.iid_of(s.iid, s.place, s.available_at, s.id) end,
            s.shown,
            case when s.shown = 'held' then h.since when s.shown in ('ready', 'dead') then s.available_at when s.shown in ('delayed', 'waiting') then s.added end,
            case when s.shown in ('delayed', 'leased') then s.available_at else s.expires end,
            case when s.shown = 'held' then 'the prepared transaction "' || h.gid || '" has it' when s.shown = 'dead' then s.headers operator({{.Bound}}.->) 'dmq.error'::pg_catalog.text end,
            case when s.shown = 'waiting' then s.after end,
            case when s.headers operator({{.Bound}}.->) 'retry.attempt'::pg_catalog.text ~ '^[0-9]{1,8}$' then s.headers operator({{.Bound}}.->) 'retry.attempt'::pg_catalog.text end::int,
            h.pid, h.username, h.application, s.added, mbus4.headers_of(s.place, s.added, s.headers), s.properties, s.data
     from shown s
     left join holders h on h.holder = s.holder and s.shown = 'held'
     order by s.available_at, s.id)
    union all
    (select null, null, null, null, format('after %s messages the search was given up: there may be more', r.read), null, null, null, null, null, null, null, null, null
     from part p
     cross join lateral (
         select count(*) as read
         from (
             select from mbus4.message m
             where m.consumer_id = p.id and m.available_at >= p.first and m.available_at <= p.last
             order by m.available_at, m.id
             limit case when (select count(*) from shown s) < coalesce($4, 100) then p.most else 0 end
         ) m
     ) r
     where r.read = p.most)
$$;
revoke all on function mbus4.messages_of(text, text, text, integer) from public;

-- How much was posted and consumed, as the server counts it for the table: once every few seconds, while the database is in use. Housekeeping adds the
-- rows and removes old ones.
create table mbus4.traffic (
    at      timestamptz not null primary key,
    posted  bigint not null,
    removed bigint not null
);

-- The rates of all queues together; since says from when on, for the database may not have been in use before. Null: there is nothing to compare with, or the
-- server has begun to count anew.
create view mbus4.rates as
select w.over, s.at as since,
       case when n.posted >= s.posted then round(((n.posted - s.posted) / extract(epoch from n.now - s.at))::numeric, 1) end as posted_per_second,
       case when n.removed >= s.removed then round(((n.removed - s.removed) / extract(epoch from n.now - s.at))::numeric, 1) end as removed_per_second
from (
    select clock_timestamp() as now, pg_stat_get_tuples_inserted('mbus4.message'::pg_catalog.regclass) as posted, pg_stat_get_tuples_deleted('mbus4.message'::pg_catalog.regclass) as removed
    offset 0
) n
cross join (values (interval '1 minute'), (interval '5 minutes'), (interval '15 minutes')) w (over)
left join lateral (
    select t.at, t.posted, t.removed
    from mbus4.traffic t
    where t.at >= n.now - w.over and t.at <= n.now - interval '2 seconds'
    order by t.at
    limit 1
) s on true;
