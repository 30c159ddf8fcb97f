-- What is in the queues, for whoever looks.

-- What each consumer is still to get, by when: ready, delayed, and waiting for others. oldest_ready is since when the first one is ready.
-- exact says that all were counted; else some of the numbers are estimated from a sample of the table's pages.
--
-- The first hundred messages of a consumer are counted along the primary key. Where there are more, a sample of 1,000 pages tells of those kinds of
-- which it has seen many; of others a hundred are counted, and if there are more of them the sample has the word again, for want of a better one. So what each
-- consumer costs has a bound. A table of no more pages is read as a whole. Counting begins at the consumer's hint; the settings are those of
-- estimated_messages_of.
create or replace function mbus4.consumer_counts(out queue text, out consumer text, out selector text, out ready bigint, out delayed bigint,
    out waiting bigint, out oldest_ready timestamptz, out exact boolean) returns setof record
language sql volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
    with sampled as materialized (
        select least(100, 100000.0 / greatest(p.pages, 1)) as percent, clock_timestamp() as now
        from (select pg_relation_size('mbus4.message'::regclass) / current_setting('block_size')::int as pages) p
    ), seen as materialized (
        select m.consumer_id,
               (count(*) filter (where m.available_at <= s.now and (m.expires is null or m.expires > s.now or m.consumer_id = 1)) * 100 / s.percent)::bigint as ready,
               (count(*) filter (where m.available_at > s.now and m.available_at < 'infinity') * 100 / s.percent)::bigint as delayed,
               (count(*) filter (where m.available_at = 'infinity') * 100 / s.percent)::bigint as waiting
        from sampled s
        cross join lateral (
            select m.consumer_id, m.available_at, m.expires from mbus4.message m tablesample system (s.percent) repeatable (0)
        ) m
        group by m.consumer_id, s.percent
    ), told as materialized (
        select c.id, c.qname, c.name, c.selector, s.now, s.percent = 100 as whole,
               to_timestamp(coalesce(pg_sequence_last_value(('mbus4.hint_' || coalesce(c.hint, c.id % 128))::regclass), 0) / 1000000.0) as low,
               coalesce(n.ready, 0) as ready, coalesce(n.delayed, 0) as delayed, coalesce(n.waiting, 0) as waiting
        from sampled s
        cross join mbus4.consumer c
        left join seen n on n.consumer_id = c.id
        where c.target is null
    )
    select t.qname, t.name, t.selector,
           case when t.whole then t.ready when f.some <= 100 then f.ready when c.ready between 1 and 100 then c.ready else greatest(f.ready, c.ready, t.ready) end,
           case when t.whole then t.delayed when f.some <= 100 then f.delayed when c.delayed between 1 and 100 then c.delayed else greatest(f.delayed, c.delayed, t.delayed) end,
           case when t.whole then t.waiting when f.some <= 100 then f.waiting when c.waiting between 1 and 100 then c.waiting else greatest(f.waiting, c.waiting, t.waiting) end,
           f.oldest_ready,
           t.whole or f.some <= 100 or greatest(t.ready, t.delayed, t.waiting) < 2000 and greatest(c.ready, c.delayed, c.waiting) <= 100
    from told t
    cross join lateral (
        select count(*) as some, min(x.available_at) filter (where x.kind = 'ready') as oldest_ready,
               count(*) filter (where x.kind = 'ready') as ready, count(*) filter (where x.kind = 'delayed') as delayed, count(*) filter (where x.kind = 'waiting') as waiting
        from (
            select m.available_at,
                   case when m.available_at = 'infinity' then 'waiting' when m.available_at > t.now then 'delayed'
                        when m.expires is null or m.expires > t.now or m.consumer_id = 1 then 'ready' end as kind
            from mbus4.message m
            where m.consumer_id = t.id and m.available_at >= t.low
            order by m.available_at, m.id
            limit 101
        ) x
        offset 0
    ) f
    cross join lateral (
        select (select count(*) from (
                    select from mbus4.message m
                    where m.consumer_id = t.id and m.available_at >= t.low and m.available_at <= t.now and (m.expires is null or m.expires > t.now or m.consumer_id = 1)
                    order by m.available_at, m.id
                    limit case when f.some > 100 and not t.whole and t.ready < 2000 then 101 else 0 end) x) as ready,
               (select count(*) from (
                    select from mbus4.message m
                    where m.consumer_id = t.id and m.available_at > t.now and m.available_at < 'infinity'
                    order by m.available_at, m.id
                    limit case when f.some > 100 and not t.whole and t.delayed < 2000 then 101 else 0 end) x) as delayed,
               (select count(*) from (
                    select from mbus4.message m
                    where m.consumer_id = t.id and m.available_at = 'infinity'
                    order by m.available_at, m.id
                    limit case when f.some > 100 and not t.whole and t.waiting < 2000 then 101 else 0 end) x) as waiting
        offset 0
    ) c
$$;
revoke all on function mbus4.consumer_counts() from public;

create or replace view mbus4.consumers as
select c.queue, c.consumer, c.ready, c.delayed, c.waiting, c.oldest_ready, c.exact, c.selector from mbus4.consumer_counts() c;

-- The messages that the consumer with the most of a kind is still to get.
create or replace view mbus4.queues as
select q.qname as queue, q.kind, coalesce(c.consumers, 0) as consumers, coalesce(c.ready, 0) as ready, coalesce(c.delayed, 0) as delayed,
       coalesce(c.waiting, 0) as waiting, c.oldest_ready, coalesce(c.exact, true) as exact
from mbus4.queue q
left join (
    select c.queue, count(*) as consumers, max(c.ready) as ready, max(c.delayed) as delayed, max(c.waiting) as waiting,
           min(c.oldest_ready) as oldest_ready, bool_and(c.exact) as exact
    from mbus4.consumer_counts() c
    group by c.queue
) c on c.queue = q.qname
offset 0;

-- Why a message is not delivered, see mbus4.reasons.
do $$
begin
    if to_regtype('mbus4.reason') is null then
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
    end if;
end
$$;

-- The copies of a message that are there, with the reason why each is not delivered. Rows are found by their iid or by what the iid says of
-- their place. Who holds one is told by the lock that each transaction has on its own id; of a row that several lock it is not known.
create or replace function mbus4.reasons(iid text) returns setof mbus4.reason
language sql volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
    select c.qname, c.name, s.state,
           case when s.state = 'delayed' then m.available_at else m.expires end,
           case s.state
               when 'expired' then 'it is about to be removed'
               when 'held' then coalesce('the prepared transaction "' || h.gid || '" has it', 'an open transaction has consumed or locked it')
               when 'waiting' then case when w.waits_for = '{}' then 'it is about to be woken' else 'the messages in waits_for come first' end
               when 'dead' then coalesce(m.headers operator({{.Bound}}.->) 'dmq.error'::text, 'it lies in dmq until somebody consumes it')
               when 'ready' then (
                   select case when count(*) > 100 then 'more than 100' else count(*)::text end || ' before it'
                   from (
                       select from mbus4.message o
                       where o.consumer_id = m.consumer_id and o.available_at >= to_timestamp(coalesce(pg_sequence_last_value(('mbus4.hint_' || coalesce(c.hint, c.id % 128))::regclass), 0) / 1000000.0)
                         and (o.available_at, o.id) < (m.available_at, m.id)
                       order by o.available_at, o.id
                       limit 101
                   ) b)
           end,
           case when s.state = 'waiting' then w.waits_for end,
           case when s.state = 'held' then h.pid end, case when s.state = 'held' then h.usename end, case when s.state = 'held' then h.application_name end
    from (
        select m.consumer_id, m.available_at, m.id, m.expires, m.after, m.headers, m.xmax as holder from mbus4.message m where m.iid = $1
        union all
        select m.consumer_id, m.available_at, m.id, m.expires, m.after, m.headers, m.xmax
        from mbus4.places_of_iid($1) p
        join mbus4.consumer c on c.qname = p.queue
        join mbus4.message m on m.consumer_id = c.id and m.available_at = p.available_at and m.id = p.id
        where m.iid is null
    ) m
    join mbus4.consumer c on c.id = m.consumer_id
    left join lateral (
        select l.pid, a.usename, a.application_name, x.gid
        from pg_locks l
        left join pg_stat_activity a on a.pid = l.pid
        left join pg_prepared_xacts x on x.transaction = l.transactionid
        where l.locktype = 'transactionid' and l.transactionid = m.holder and l.mode = 'ExclusiveLock' and l.granted
        limit 1
    ) h on true
    cross join lateral (
        select array(select d.iid from unnest(m.after) d (iid) where mbus4.awaits_delivery(array[d.iid])) as waits_for offset 0
    ) w
    cross join lateral (
        select case when m.expires <= clock_timestamp() and m.consumer_id <> 1 then 'expired'
                    when h.pid is not null or h.gid is not null then 'held'
                    when m.available_at = 'infinity' or w.waits_for <> '{}' then 'waiting'
                    when m.available_at > clock_timestamp() then 'delayed'
                    when m.consumer_id = 1 then 'dead'
                    else 'ready' end as state
    ) s
    order by c.qname, c.name
$$;
revoke all on function mbus4.reasons(text) from public;
