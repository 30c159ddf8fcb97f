-- Pausing consumers.

-- Since when a consumer gets nothing; null: it is not paused. Who consumes looks for a paused consumer's messages under an id that no consumer has: see
-- receiver of package calls. That of a queue is what consumers begin with that are created later.
alter table mbus4.queue add column if not exists paused timestamptz;
alter table mbus4.consumer add column if not exists paused timestamptz;

create or replace view mbus4.consumers as
select c.queue, c.consumer, c.ready, c.delayed, c.waiting, c.oldest_ready, c.exact, c.selector, c.leased,
       (select k.paused is not null from mbus4.consumer k where k.qname = c.queue and k.name = c.consumer) as paused
from mbus4.counts_of_consumers() c;

-- The messages that the consumer with the most of a kind is still to get. A queue is paused when it is so as a whole, or each of its consumers.
create or replace view mbus4.queues as
select q.qname as queue, q.kind, coalesce(c.consumers, 0) as consumers, coalesce(c.ready, 0) as ready, coalesce(c.delayed, 0) as delayed,
       coalesce(c.waiting, 0) as waiting, c.oldest_ready, coalesce(c.exact, true) as exact, coalesce(c.leased, 0) as leased,
       coalesce((select bool_and(k.paused is not null) from mbus4.consumer k where k.qname = q.qname and k.target is null), q.paused is not null) as paused
from mbus4.queue q
left join (
    select c.queue, count(*) as consumers, max(c.ready) as ready, max(c.delayed) as delayed, max(c.waiting) as waiting, max(c.leased) as leased,
           min(c.oldest_ready) as oldest_ready, bool_and(c.exact) as exact
    from mbus4.counts_of_consumers() c
    group by c.queue
) c on c.queue = q.qname
offset 0;

-- As before, with the state paused. The copies of a message that are there, with the reason why each is not delivered. Rows are found by their iid or by what the iid says of
-- their place. Who holds one is told by the lock that each transaction has on its own id; of a row that several lock it is not known.
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
               when 'paused' then 'since ' || c.paused || '; mbus4.resume_queue(''' || c.qname || ''') lets the consumers go on'
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
                    when c.paused is not null then 'paused'
                    when m.consumer_id = 1 then 'dead'
                    else 'ready' end as state
    ) s
    order by c.qname, c.name
$$;
