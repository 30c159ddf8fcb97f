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

-- Removes the temporary queues whose sessions are gone, with the triggers that feed them, and gives
-- their number. Their messages become unreachable at once; the Sweeper removes them.
create function mbus4.drop_dead_temporary_queues() returns bigint
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
    select count(*) from dead
$$;
