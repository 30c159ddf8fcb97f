-- Leases, retries and what a consumer's policy for them is.

-- Null: what part/policy.sql of package calls says.
alter table mbus4.consumer
    add column if not exists max_attempts int check (max_attempts > 0),
    add column if not exists backoff interval,
    add column if not exists max_backoff interval,
    add column if not exists jitter double precision,
    add column if not exists lease interval;

-- What lease yields: a message as others see it, and its lease. What retry takes: either.
do $$
begin
    if to_regtype('mbus4.leased_message') is null then
        create type mbus4.leased_message as (
            id            bigint,
            added         timestamp,
            iid           text,
            delayed_until timestamp,
            expires       timestamp,
            received      int[],
            headers       {{.Hstore}}.hstore,
            properties    {{.Hstore}}.hstore,
            data          {{.Hstore}}.hstore,
            attempt       integer,
            lease         text,
            leased_until  timestamptz
        );
    end if;
    if to_regtype('mbus4.retry_target') is null then
        create type mbus4.retry_target as (lease text, message mbus4.qt_model);
    end if;
end
$$;

-- Which of the two the first argument of retry is, the server decides.
create or replace function mbus4.to_retry(lease text) returns mbus4.retry_target
language sql immutable parallel safe
as $$ select row($1, null)::mbus4.retry_target $$;
create or replace function mbus4.to_retry(message mbus4.qt_model) returns mbus4.retry_target
language sql immutable parallel safe
as $$ select row(null, $1)::mbus4.retry_target $$;

-- Of a message that cannot be delivered yet: whether that is because somebody has a lease on it. What was delayed by who posted it or by
-- retry, and what was woken, is available when it is due; a lease moves the one and not the other. There is no column for leases, for a column
-- of mbus4.message is one too many for the take of older programs. See docs/adr/0019-leases.md.
create or replace function mbus4.is_leased(available_at timestamptz, delayed_until timestamptz, headers {{.Hstore}}.hstore) returns boolean
language sql immutable parallel safe
as $$ select $1 is distinct from $2 and coalesce({{.Bound}}.exist($3, 'retry.attempt'), false) $$;

-- As consumer_counts, which older programs use, with what is leased.
create or replace function mbus4.counts_of_consumers(out queue text, out consumer text, out selector text, out ready bigint, out delayed bigint,
    out waiting bigint, out leased bigint, out oldest_ready timestamptz, out exact boolean) returns setof record
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
               (count(*) filter (where m.available_at > s.now and m.available_at < 'infinity' and not m.leased) * 100 / s.percent)::bigint as delayed,
               (count(*) filter (where m.available_at > s.now and m.available_at < 'infinity' and m.leased) * 100 / s.percent)::bigint as leased,
               (count(*) filter (where m.available_at = 'infinity') * 100 / s.percent)::bigint as waiting
        from sampled s
        cross join lateral (
            select m.consumer_id, m.available_at, m.expires, mbus4.is_leased(m.available_at, m.delayed_until, m.headers) as leased from mbus4.message m tablesample system (s.percent) repeatable (0)
        ) m
        group by m.consumer_id, s.percent
    ), told as materialized (
        select c.id, c.qname, c.name, c.selector, s.now, s.percent = 100 as whole,
               to_timestamp(coalesce(pg_sequence_last_value(('mbus4.hint_' || coalesce(c.hint, c.id % 128))::regclass), 0) / 1000000.0) as low,
               coalesce(n.ready, 0) as ready, coalesce(n.delayed, 0) as delayed, coalesce(n.waiting, 0) as waiting, coalesce(n.leased, 0) as leased
        from sampled s
        cross join mbus4.consumer c
        left join seen n on n.consumer_id = c.id
        where c.target is null
    )
    select t.qname, t.name, t.selector,
           case when t.whole then t.ready when f.some <= 100 then f.ready when c.ready between 1 and 100 then c.ready else greatest(f.ready, c.ready, t.ready) end,
           case when t.whole then t.delayed when f.some <= 100 then f.delayed when c.later between 1 and 100 then c.delayed else greatest(f.delayed, c.delayed, t.delayed) end,
           case when t.whole then t.waiting when f.some <= 100 then f.waiting when c.waiting between 1 and 100 then c.waiting else greatest(f.waiting, c.waiting, t.waiting) end,
           case when t.whole then t.leased when f.some <= 100 then f.leased when c.later between 1 and 100 then c.leased else greatest(f.leased, c.leased, t.leased) end,
           f.oldest_ready,
           t.whole or f.some <= 100 or greatest(t.ready, t.delayed, t.waiting, t.leased) < 2000 and greatest(c.ready, c.later, c.waiting) <= 100
    from told t
    cross join lateral (
        select count(*) as some, min(x.available_at) filter (where x.kind = 'ready') as oldest_ready,
               count(*) filter (where x.kind = 'ready') as ready, count(*) filter (where x.kind = 'delayed') as delayed, count(*) filter (where x.kind = 'waiting') as waiting, count(*) filter (where x.kind = 'leased') as leased
        from (
            select m.available_at,
                   case when m.available_at = 'infinity' then 'waiting'
                        when m.available_at > t.now then case when mbus4.is_leased(m.available_at, m.delayed_until, m.headers) then 'leased' else 'delayed' end
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
               l.later, l.later - l.leased as delayed, l.leased,
               (select count(*) from (
                    select from mbus4.message m
                    where m.consumer_id = t.id and m.available_at = 'infinity'
                    order by m.available_at, m.id
                    limit case when f.some > 100 and not t.whole and t.waiting < 2000 then 101 else 0 end) x) as waiting
        from (
            select count(*) as later, count(*) filter (where x.leased) as leased
            from (
                select mbus4.is_leased(m.available_at, m.delayed_until, m.headers) as leased
                from mbus4.message m
                where m.consumer_id = t.id and m.available_at > t.now and m.available_at < 'infinity'
                order by m.available_at, m.id
                limit case when f.some > 100 and not t.whole and least(t.delayed, t.leased) < 2000 then 101 else 0 end) x
        ) l
        offset 0
    ) c
$$;
revoke all on function mbus4.counts_of_consumers() from public;

create or replace view mbus4.consumers as
select c.queue, c.consumer, c.ready, c.delayed, c.waiting, c.oldest_ready, c.exact, c.selector, c.leased from mbus4.counts_of_consumers() c;

create or replace view mbus4.queues as
select q.qname as queue, q.kind, coalesce(c.consumers, 0) as consumers, coalesce(c.ready, 0) as ready, coalesce(c.delayed, 0) as delayed,
       coalesce(c.waiting, 0) as waiting, c.oldest_ready, coalesce(c.exact, true) as exact, coalesce(c.leased, 0) as leased
from mbus4.queue q
left join (
    select c.queue, count(*) as consumers, max(c.ready) as ready, max(c.delayed) as delayed, max(c.waiting) as waiting, max(c.leased) as leased,
           min(c.oldest_ready) as oldest_ready, bool_and(c.exact) as exact
    from mbus4.counts_of_consumers() c
    group by c.queue
) c on c.queue = q.qname
offset 0;

-- As it was, with the state leased: until is then when the lease ends.
create or replace function mbus4.reasons(iid text) returns setof mbus4.reason
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
               when 'leased' then 'attempt ' || (m.headers operator({{.Bound}}.->) 'retry.attempt'::text)
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
        select m.consumer_id, m.available_at, m.id, m.expires, m.delayed_until, m.after, m.headers, m.xmax as holder from mbus4.message m where m.iid = $1
        union all
        select m.consumer_id, m.available_at, m.id, m.expires, m.delayed_until, m.after, m.headers, m.xmax
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
        select case when m.available_at > clock_timestamp() and m.available_at < 'infinity' and h.pid is null and h.gid is null
                         and mbus4.is_leased(m.available_at, m.delayed_until, m.headers) then 'leased'
                    when m.expires <= clock_timestamp() and m.consumer_id <> 1 then 'expired'
                    when h.pid is not null or h.gid is not null then 'held'
                    when m.available_at = 'infinity' or w.waits_for <> '{}' then 'waiting'
                    when m.available_at > clock_timestamp() then 'delayed'
                    when m.consumer_id = 1 then 'dead'
                    else 'ready' end as state
    ) s
    order by c.qname, c.name
$$;
