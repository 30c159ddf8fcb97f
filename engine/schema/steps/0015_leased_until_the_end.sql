-- While a message is leased it does not expire: it is there for who waits for it, looks for it, or posts under its iid, until the lease ends.

-- As in 0004, but for what is leased.
create or replace function mbus4.awaits_delivery(iids text[]) returns boolean
language plpgsql stable parallel safe
as $$
declare
    mbus4_iid text;
begin
    foreach mbus4_iid in array coalesce($1, '{}') loop
        if exists (select from mbus4.message m
                   where m.iid = mbus4_iid
                     and (m.expires is null or m.expires > pg_catalog.clock_timestamp() or m.consumer_id = 1
                          or m.available_at > pg_catalog.clock_timestamp() and m.available_at < 'infinity' and mbus4.is_leased(m.available_at, m.delayed_until, m.headers))
                     and exists (select from mbus4.consumer c where c.id = m.consumer_id)) then
            return true;
        end if;
        if mbus4_iid ~ '[.][1-9][0-9]{16,33}$' then -- it may say where the message stands; by itself, for what is not reached is not set up
            if exists (
                    select from mbus4.places_of_iid(mbus4_iid) p
                    join mbus4.consumer c on c.qname = p.queue
                    join mbus4.message m on m.consumer_id = c.id and m.available_at = p.available_at and m.id = p.id
                    where m.iid is null and (m.expires is null or m.expires > pg_catalog.clock_timestamp() or m.consumer_id = 1)) then
                return true;
            end if;
        end if;
    end loop;
    return false;
end
$$;

-- As in 0004. A leased message has its iid stored.
create or replace function mbus4.undelivered(iid text) returns setof mbus4.message
language sql stable parallel safe rows 2
as $$
    select m.*
    from mbus4.message m
    where m.iid = $1
      and (m.expires is null or m.expires > pg_catalog.clock_timestamp() or m.consumer_id = 1
           or m.available_at > pg_catalog.clock_timestamp() and m.available_at < 'infinity' and mbus4.is_leased(m.available_at, m.delayed_until, m.headers))
      and exists (select from mbus4.consumer c where c.id = m.consumer_id)
    union all
    select m.*
    from mbus4.places_of_iid($1) p
    join mbus4.consumer c on c.qname = p.queue
    join mbus4.message m on m.consumer_id = c.id and m.available_at = p.available_at and m.id = p.id
    where m.iid is null and (m.expires is null or m.expires > pg_catalog.clock_timestamp() or m.consumer_id = 1)
$$;

-- As in 0013, but what is delayed for ever is delayed, and nobody is to wake it.
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
