-- What a session alone can hold: services and temporary queues that end with it. A text/template as the
-- others.

-- A session that must be known to live marks itself: it holds, shared, the advisory lock (1835169139, mark) with
-- a mark drawn at random. Its owner is its process and that mark, (pid << 32) | mark: others may take the same
-- lock, but not in its process. Should the process id come back, then the role and, where it may be seen, the
-- time when the session began tell the sessions apart.

-- Marks the session, unless it is marked already, and gives its owner. Others can hold no lock that makes this wait:
-- of a mark that somebody holds exclusively another one is drawn. One lock for a session, also after rollbacks, until
-- it ends, resets itself (DISCARD ALL) or lets the lock go (pg_advisory_unlock_all).
create function mbus4.mark_session() returns bigint
language sql volatile
set search_path = pg_catalog, pg_temp
as $$
    select (pg_backend_pid()::bigint << 32) | m.mark
    from (
        (select l.objid::bigint as mark
         from pg_locks l
         where l.locktype = 'advisory' and l.classid = 1835169139 and l.objsubid = 2 and l.pid = pg_backend_pid()
           and l.mode = 'ShareLock' and l.granted and l.objid::bigint between 1 and 2147483647
           and l.database = (select d.oid from pg_database d where d.datname = current_database())
         limit 1)
        union all
        select (('x' || left(gen_random_uuid()::text, 8))::bit(32)::bigint & 2147483646) + 1
        from generate_series(1, 1000)
    ) m
    where pg_try_advisory_lock_shared(1835169139, m.mark::int)
    limit 1
$$;

-- Whether the session that was marked lives and still holds its mark.
create function mbus4.session_lives(owner bigint, role oid, started timestamptz) returns boolean
language sql volatile
set search_path = pg_catalog, pg_temp
as $$
    select exists (
            select from pg_locks l
            where l.locktype = 'advisory' and l.classid = 1835169139 and l.objsubid = 2 and l.pid = ($1 >> 32)::int
              and l.objid::bigint = $1 & 4294967295 and l.granted
              and l.database = (select d.oid from pg_database d where d.datname = current_database()))
        and not exists (
            select
            from (select pg_stat_clear_snapshot() offset 0) fresh
            cross join lateral pg_stat_get_activity(($1 >> 32)::int) a
            where a.usesysid <> $2 or a.backend_start <> $3)
$$;

-- The services of which one works at a time, and the session that has the lead. Nobody but the schema's
-- owner has any right on this table, so nobody else can lock a row of it.
create table mbus4.service (
    name    text collate "C" not null primary key,
    owner   bigint, -- null: nobody has led yet
    role    oid,
    started timestamptz
);
insert into mbus4.service (name) values ('hinter'), ('granter');

-- As before, but for who owns the queue.
alter table mbus4.queue add column owner_role oid, add column owner_started timestamptz;

create or replace function mbus4.new_temporary_queue() returns text
language sql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
    with q as (
        insert into mbus4.queue (name, consumers_cnt, kind, owner, owner_role, owner_started)
        select 'temp.' || md5(gen_random_uuid()::text) || '.' || nextval('mbus4.message_id'), 1, 'temp',
               mbus4.mark_session(), a.usesysid, a.backend_start
        from (select) one
        left join pg_stat_get_activity(pg_backend_pid()) a on true
        returning id, name
    )
    insert into mbus4.consumer (queue_id, queue, name)
    select q.id, q.name, 'default' from q
    returning queue
$$;

-- All owners at once: a look at the locks costs as much for one as for all.
create or replace function mbus4.drop_dead_temporary_queues() returns void
language sql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
    with held as materialized (
        select (l.pid::bigint << 32) | l.objid::bigint as owner, l.pid
        from pg_locks l
        where l.locktype = 'advisory' and l.classid = 1835169139 and l.objsubid = 2 and l.granted
          and l.database = (select d.oid from pg_database d where d.datname = current_database())
    ), session as materialized (
        select a.pid, a.usesysid, a.backend_start
        from (select pg_stat_clear_snapshot() offset 0) fresh
        cross join lateral pg_stat_get_activity(null) a
    ), alive as materialized (
        select h.owner, s.usesysid, s.backend_start from held h left join session s on s.pid = h.pid
    ), dead as (
        delete from mbus4.queue q
        where q.kind = 'temp'
          and not exists (
            select from alive a
            where a.owner = q.owner and (a.usesysid = q.owner_role) is not false and (a.backend_start = q.owner_started) is not false)
        returning q.name
    ), fed as (
        delete from mbus4.consumer c using dead d where c.target = d.name
    )
    select from dead
$$;
