-- What a session alone can hold: services and temporary queues that end with it.

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
        select (('x' || left(gen_random_uuid()::pg_catalog.text, 8))::bit(32)::bigint & 2147483646) + 1
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

insert into mbus4.service (name) values ('hinter'), ('granter'), ('upgrade');

-- Makes a temporary queue of this session. With the rights of the schema's owner: whoever may post and
-- consume may have one.
create function mbus4.new_temporary_queue() returns text
language sql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
    with q as (
        insert into mbus4.queue (qname, consumers_cnt, kind, owner, owner_role, owner_started)
        select 'temp.' || md5(gen_random_uuid()::pg_catalog.text) || '.' || nextval('mbus4.message_id'), 1, 'temp',
               mbus4.mark_session(), a.usesysid, a.backend_start
        from (select) one
        left join pg_stat_get_activity(pg_backend_pid()) a on true
        returning id, qname
    )
    insert into mbus4.consumer (queue_id, qname, name)
    select q.id, q.qname, 'default' from q
    returning qname
$$;
revoke all on function mbus4.new_temporary_queue() from public;

-- Makes a temporary queue of this session and a trigger that feeds it. call is the number of the call
-- in the client's text, for errors. A selector is looked up by its text, for two may have one id. A transaction that
-- took its snapshot before the selector's row was made does not see it.
create function mbus4.new_temporary_consumer(qname text, selector text, call int) returns text
language sql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
    with source as materialized (
        select q.id, coalesce(q.qname, left(format('mbus4-error %s 42704 queue %s does not exist', $3, coalesce('"' || $1 || '"', 'null')), 2000)::int::pg_catalog.text) as name,
               s.id as selector_id, s.headers, s.properties, s.data,
               case when btrim($2, E' \t\r\n') <> '' and s.id is null then mbus4.no_selector($3::pg_catalog.text, $2) end as unknown,
               -- Each is asked, and may get a copy, at each post.
               case when (select count(*) from (select from mbus4.consumer c where c.qname = q.qname and c.target is not null limit 1000) t) = 1000
                    then left(format('mbus4-error %s 54000 queue "%s" has 1000 triggers and temporary consumers, and no room for more of these', $3, q.qname), 2000)::int end as full_up
        from (select ('x' || left(md5(convert_to($2, 'UTF8')), 16))::bit(64)::bigint as id) h
        left join mbus4.selector s on s.id = h.id and s.text = $2 and s.refused is null
        left join mbus4.queue q on q.qname = lower($1 collate "C")
    ), made as materialized (
        select s.*, mbus4.new_temporary_queue() as target from source s where s.name is not null and s.unknown is null and s.full_up is null
    )
    insert into mbus4.consumer (queue_id, qname, name, selector, selector_id, target, asks_headers, asks_properties, asks_data)
    select m.id, m.name, 'TRIGGER ' || m.target, case when m.selector_id is not null then $2 end, m.selector_id, m.target,
           m.headers, m.properties, m.data
    from made m
    returning target
$$;
revoke all on function mbus4.new_temporary_consumer(text, text, int) from public;

-- True: a temporary queue of that name is not there. An error where it is, for then the statement that calls this has created
-- it: a volatile function sees that, the statement does not. call is the call's mark.
create function mbus4.is_gone(qname text, call text) returns boolean
language sql volatile
as $$
    select not exists (select from mbus4.queue q where q.qname = $1)
        or pg_catalog.left(pg_catalog.format('mbus4-error %s 55000 queue "%s" was created by the same statement, and posting to it takes another one', $2, $1), 2000)::int = 0
$$;

-- Removes temporary queues whose sessions are gone, with the triggers that feed them: the first of those with ids
-- above behind, as many as most, or all. Gives how many there were, and the id of the last. Their messages become
-- unreachable at once; the Sweeper removes them.
--
-- A look at the locks costs as much for one owner as for all. NOT IN is told by a hash, however many queues and sessions
-- there are. What of a session may not be seen is null, and then its queue is neither in nor not. A prepared
-- transaction, which may hold such a lock as well, is no session.
create function mbus4.drop_dead_temporary_queues(behind bigint, most int, out gone bigint, out last bigint)
language sql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
    with held as materialized (
        select (l.pid::bigint << 32) | l.objid::bigint as owner, l.pid
        from pg_locks l
        where l.locktype = 'advisory' and l.classid = 1835169139 and l.objsubid = 2 and l.granted and l.pid is not null
          and l.database = (select d.oid from pg_database d where d.datname = current_database())
    ), session as materialized (
        select a.pid, a.usesysid, a.backend_start
        from (select pg_stat_clear_snapshot() offset 0) fresh
        cross join lateral pg_stat_get_activity(null) a
    ), dead as materialized (
        select q.id, q.qname
        from mbus4.queue q
        where q.kind = 'temp' and q.id > $1
          and (q.owner, q.owner_role, q.owner_started) not in (
            select h.owner, s.usesysid, s.backend_start from held h left join session s on s.pid = h.pid)
        order by q.id
        limit $2
        for update skip locked
    ), fed as (
        delete from mbus4.consumer c using dead d where c.target = d.qname
    ), dropped as (
        delete from mbus4.queue q using dead d where q.id = d.id returning q.id
    )
    select count(*), max(id) from dropped
$$;
revoke all on function mbus4.drop_dead_temporary_queues(bigint, int) from public;

create function mbus4.drop_dead_temporary_queues() returns void
language sql volatile
as $$ select mbus4.drop_dead_temporary_queues(bigint '-9223372036854775808', null) $$;
