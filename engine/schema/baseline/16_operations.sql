-- Operations over many dead messages, what is needed to take them back, and who has changed what. Package internal/bulk does the rest, in the session of whose
-- they are.

-- What was changed, by whom. A row is written in the transaction of the change. Who and when the server says, by the defaults of columns that nobody may give; what
-- was changed is as the session of that role says. Housekeeping removes old rows.
create table mbus4.audit (
    id          bigint generated always as identity primary key,
    at          timestamptz not null default clock_timestamp(),
    role        name not null default session_user, -- as which the session has logged in
    acting_as   name default nullif(current_setting('role'), 'none'), -- set role
    address     inet default inet_client_addr(), -- from where the server sees the session come: through a proxy that is the proxy's; null: a unix socket
    application text default nullif(current_setting('application_name'), ''),
    pid         int not null default pg_backend_pid(),
    action      text not null check (action ~ '^[a-z][a-z0-9_ ]{0,62}$'),
    queue       text check (octet_length(queue) <= 1000),
    consumer    text check (octet_length(consumer) <= 1000),
    selector    text check (octet_length(selector) <= 65536),
    messages    bigint,
    details     jsonb check (octet_length(details::pg_catalog.text) <= 65536)
);
create index audit_at on mbus4.audit (at);

-- Who cannot do what members of mbus4_admin can has not done it.
alter table mbus4.audit enable row level security;
create policy audit_seen on mbus4.audit for select using (true);
create policy audit_written on mbus4.audit for insert with check (
    action not in ('create_queue', 'drop_queue', 'create_consumer', 'drop_consumer', 'alter_consumer', 'create_trigger', 'drop_trigger', 'pause_queue', 'resume_queue',
                   'create_view', 'create_view_prop')
    or exists (select from pg_catalog.pg_roles r
               where pg_catalog.pg_has_role(session_user, r.oid, 'member') and pg_catalog.has_table_privilege(r.oid, 'mbus4.consumer', 'insert, update, delete')));

-- role_oid has begun it and nobody else sees it or goes on with it. It takes the messages of dmq (consumer 1) in the order of the primary key, up to
-- until: all up to (at, message) are dealt with. Whoever runs it is the session (pid, backend_started); when that has ended, it is paused.
create table mbus4.operation (
    id              bigint generated always as identity primary key,
    role            name not null default session_user,
    role_oid        oid not null default to_regrole(quote_ident(session_user)),
    kind            text not null check (kind in ('redrive', 'move', 'purge', 'undo')),
    state           text not null default 'running' check (state in ('running', 'paused', 'cancelled', 'done')),
    queue           text collate "C" check (octet_length(queue) <= 1000),
    consumer        text collate "C" check (octet_length(consumer) <= 1000),
    selector        text check (octet_length(selector) <= 65536),
    since           timestamptz,
    until           timestamptz not null,
    target_queue    text collate "C",
    target_consumer text collate "C",
    undoes          bigint,
    at              timestamptz not null,
    message         bigint not null default -1,
    batches         int not null default 0,
    looked          bigint not null default 0, -- messages that it has come by
    done            bigint not null default 0,
    refused         bigint not null default 0, -- that could not go there; of an undo, that are not there any more as they came
    held            bigint not null default 0, -- that others had locked
    started         timestamptz not null default clock_timestamp(),
    changed         timestamptz not null default clock_timestamp(),
    ended           timestamptz,
    pid             int,
    backend_started timestamptz,
    error           text check (octet_length(error) <= 4000),
    check ((kind = 'undo') = (undoes is not null)),
    check ((kind = 'move') = (target_queue is not null)),
    check ((state in ('cancelled', 'done')) = (ended is not null))
);
create index operation_role on mbus4.operation (role_oid, id);
create index operation_open on mbus4.operation (role_oid) where ended is null;
create index operation_changed on mbus4.operation (changed);

-- How many operations of the session's role have not ended; it does not count beyond a thousand.
create function mbus4.open_operations() returns bigint
language sql stable security definer
set search_path = pg_catalog, pg_temp
as $$
    select count(*) from (select from mbus4.operation o where o.role_oid = to_regrole(quote_ident(session_user)) and o.ended is null limit 1000) x
$$;
revoke all on function mbus4.open_operations() from public;

alter table mbus4.operation enable row level security;
create policy operation_own on mbus4.operation using (role_oid = pg_catalog.to_regrole(pg_catalog.quote_ident(session_user)));
create policy operation_bound on mbus4.operation as restrictive for insert with check (mbus4.open_operations() < 1000);

-- What a batch has put into queues: where it is now, and what of it is not as it was in dmq. Undoing takes the rows away.
create type mbus4.redriven_message as (
    iid           text,
    id            bigint,
    consumers     bigint[],
    added         timestamptz,
    delayed_until timestamptz,
    headers       {{.Hstore}}.hstore -- those that were taken away or have other values now
);

create table mbus4.operation_log (
    operation bigint not null,
    batch     int not null,
    at        timestamptz not null default clock_timestamp(),
    messages  mbus4.redriven_message[] not null,
    primary key (operation, batch)
);
create index operation_log_at on mbus4.operation_log (at);

alter table mbus4.operation_log enable row level security;
create policy operation_log_own on mbus4.operation_log using (exists (select from mbus4.operation o where o.id = operation));

-- Takes the first batch out of the log of what an undo of the session's role undoes; null: there is none. A function, for a right to delete would be one to lock the
-- table.
create function mbus4.operation_unlog(id bigint) returns mbus4.redriven_message[]
language sql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
as $$
    delete from mbus4.operation_log l
    where (l.operation, l.batch) = (
        select x.operation, x.batch
        from mbus4.operation o
        join mbus4.operation u on u.id = o.undoes and u.role_oid = o.role_oid
        join mbus4.operation_log x on x.operation = u.id
        where o.id = $1 and o.role_oid = to_regrole(quote_ident(session_user)) and o.state = 'running'
        order by x.batch
        limit 1)
    returning l.messages
$$;
revoke all on function mbus4.operation_unlog(bigint) from public;

-- An array written in a header; null where it is none, or one of arrays.
create function mbus4.array_of(header text) returns text[]
language sql stable parallel safe
set search_path = pg_catalog, pg_temp
set standard_conforming_strings = on
as $$
    select case when $1 ~ '^\s*\{\s*(("([^"\\]|\\.)*"|[^",{}\\\s]([^",{}\\]*[^",{}\\\s])?)\s*(,\s*("([^"\\]|\\.)*"|[^",{}\\\s]([^",{}\\]*[^",{}\\\s])?)\s*)*)?\}\s*$' then $1::pg_catalog.text[] end
$$;

-- From where dead messages are looked for: behind the hint, as consuming does.
create function mbus4.first_dead(since timestamptz) returns timestamptz
language sql stable
set search_path = pg_catalog, pg_temp
as $$
    select greatest($1, to_timestamp(coalesce(pg_sequence_last_value(('mbus4.hint_' || coalesce(c.hint, 1)::pg_catalog.text)::pg_catalog.regclass), 0)::pg_catalog.float8 / 1000000.0::pg_catalog.float8))
    from mbus4.consumer c
    where c.id = 1
$$;
revoke all on function mbus4.array_of(text), mbus4.first_dead(timestamptz) from public;

-- The operations of the role that asks. What nobody runs is paused; interrupted says that nobody has paused it, so it goes on with the next log-in.
create view mbus4.operations with (security_barrier) as
select o.id, o.kind,
       case when o.state = 'running' and not exists (
                select from pg_catalog.pg_stat_activity a where a.pid = o.pid and a.backend_start = o.backend_started) then 'paused' else o.state end as state,
       o.queue, o.consumer, o.selector, o.since, o.until, o.target_queue, o.target_consumer, o.undoes, o.looked, o.done, o.refused, o.held,
       o.started, o.changed, o.ended, o.error,
       o.ended is not null and exists (select from mbus4.operation_log l where l.operation = o.id) as undoable,
       o.state = 'running' and not exists (
           select from pg_catalog.pg_stat_activity a where a.pid = o.pid and a.backend_start = o.backend_started) as interrupted
from mbus4.operation o
where o.role_oid = pg_catalog.to_regrole(pg_catalog.quote_ident(session_user))
order by o.id desc
offset 0;

-- Removes what is old, a thousand rows of each kind at most, and says how many rows it was: what was changed 90 days ago, how to undo what was done seven
-- days ago, and operations that nobody has gone on with for 90 days.
create function mbus4.forget_changes() returns bigint
language sql volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_sort = off
set jit = off
as $$
    with audited as (
        delete from mbus4.audit a
        where a.ctid = any(array(select x.ctid from mbus4.audit x where x.at < now() - interval '90 days' order by x.at limit 1000 for update skip locked))
        returning 1
    ), logged as (
        delete from mbus4.operation_log l
        where l.ctid = any(array(select x.ctid from mbus4.operation_log x where x.at < now() - interval '7 days' order by x.at limit 1000 for update skip locked))
        returning 1
    ), operated as (
        delete from mbus4.operation o
        where o.ctid = any(array(select x.ctid from mbus4.operation x where x.changed < now() - interval '90 days' order by x.changed limit 1000 for update skip locked))
        returning 1
    )
    select (select count(*) from audited) + (select count(*) from logged) + (select count(*) from operated)
$$;
revoke all on function mbus4.forget_changes() from public;
