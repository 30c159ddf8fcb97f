-- Temporary queues. A text/template as the others.

alter table mbus4.queue drop constraint queue_kind_check;
alter table mbus4.queue add check (kind in ('plain', 'dmq', 'temp'));

-- The session that a temporary queue belongs to: it holds the advisory lock of that key for as long as
-- it lives, until it resets itself (DISCARD ALL) or lets the lock go (pg_advisory_unlock_all).
alter table mbus4.queue add column owner bigint;
alter table mbus4.queue add check ((kind = 'temp') = (owner is not null));

-- Makes a temporary queue of this session. With the rights of the schema's owner: whoever may post and
-- consume may have one. One lock for a session, however many queues.
create function mbus4.new_temporary_queue() returns text
language sql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
    with session as materialized (
        select hashtextextended('mbus4 ' || pg_backend_pid() || ' ' || coalesce((
                   select a.backend_start::text from pg_stat_get_activity(pg_backend_pid()) a), ''), 0) as key
    ), q as (
        insert into mbus4.queue (name, consumers_cnt, kind, owner)
        select 'temp.' || md5(gen_random_uuid()::text) || '.' || nextval('mbus4.message_id'), 1, 'temp',
               case when pg_advisory_lock(s.key) is not null then s.key end
        from session s
        returning id, name
    )
    insert into mbus4.consumer (queue_id, queue, name)
    select q.id, q.name, 'default' from q
    returning queue
$$;

-- Makes a temporary queue of this session and a trigger that feeds it. call is the number of the call
-- in the client's text, for errors.
create function mbus4.new_temporary_consumer(qname text, selector text, call int) returns text
language sql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
    with source as materialized (
        select q.id, coalesce(q.name, format('mbus4-error %s 42704 queue %s does not exist', $3, coalesce('"' || $1 || '"', 'null'))::int::text) as name,
               case when btrim($2, E' \t\r\n') <> '' then
                   case when to_regprocedure('mbus4.selector_' || to_hex(h.id) || '(mbus4.qt_model)') is not null then h.id
                        else format('mbus4-error %s 0A000 the selector %s was not checked; give it as a literal or as a parameter of the statement', $3, $2)::int
                   end
               end as selector_id
        from (select ('x' || left(md5($2), 16))::bit(64)::bigint as id) h
        left join mbus4.queue q on q.name = lower($1)
    ), made as materialized (
        select s.*, mbus4.new_temporary_queue() as target from source s where s.name is not null
    )
    insert into mbus4.consumer (queue_id, queue, name, selector, selector_id, target)
    select m.id, m.name, 'TRIGGER ' || m.target, case when m.selector_id is not null then $2 end, m.selector_id, m.target
    from made m
    returning target
$$;

-- Removes the temporary queues whose sessions are gone, with the triggers that feed them. Their messages
-- become unreachable at once; the Sweeper removes them.
create function mbus4.drop_dead_temporary_queues() returns void
language sql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
    with alive as materialized (
        select (l.classid::bigint << 32) | l.objid::bigint as key
        from pg_locks l
        where l.locktype = 'advisory' and l.objsubid = 1 and l.granted
          and l.database = (select d.oid from pg_database d where d.datname = current_database())
    ), dead as (
        delete from mbus4.queue q
        where q.kind = 'temp' and not exists (select from alive a where a.key = q.owner)
        returning q.name
    ), fed as (
        delete from mbus4.consumer c using dead d where c.target = d.name
    )
    select from dead
$$;
