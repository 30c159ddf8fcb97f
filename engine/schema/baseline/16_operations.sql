-- Operations over many dead messages, what is needed to take them back, and who has changed what.

-- What was changed, by whom. A row is written in the transaction of the change, by mbus4.audit_change. Who and when the server says; what was
-- changed is as the session of that role says. Housekeeping removes old rows.
create table mbus4.audit (
    id          bigint generated always as identity primary key,
    at          timestamptz not null,
    role        name not null, -- as which the session has logged in
    acting_as   name, -- set role
    address     inet, -- from where the server sees the session come: through a proxy that is the proxy's; null: a unix socket
    application text,
    pid         int not null,
    action      text not null,
    queue       text,
    consumer    text,
    selector    text,
    messages    bigint,
    details     jsonb
);
create index audit_at on mbus4.audit (at);

-- role_oid has begun it and nobody else sees it or goes on with it. It takes the messages of dmq (consumer 1) in the order of the primary key, up to
-- until: all up to (at, message) are dealt with. Whoever runs it is the session (pid, backend_started); when that has ended, it is paused.
create table mbus4.operation (
    id              bigint generated always as identity primary key,
    role            name not null,
    role_oid        oid not null,
    kind            text not null check (kind in ('redrive', 'move', 'purge', 'undo')),
    state           text not null default 'running' check (state in ('running', 'paused', 'cancelled', 'done')),
    queue           text collate "C",
    consumer        text collate "C",
    selector        text,
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
    error           text,
    check ((kind = 'undo') = (undoes is not null)),
    check ((kind = 'move') = (target_queue is not null)),
    check ((state in ('cancelled', 'done')) = (ended is not null))
);
create index operation_role on mbus4.operation (role_oid, id);
create index operation_open on mbus4.operation (role_oid) where ended is null;
create index operation_changed on mbus4.operation (changed);

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

create type mbus4.dead_message as (
    available_at timestamptz,
    id           bigint,
    iid          text,
    queue        text,
    consumer     text,
    died         timestamptz,
    error        text,
    attempt      int,
    expires      timestamptz,
    headers      {{.Hstore}}.hstore,
    properties   {{.Hstore}}.hstore,
    data         {{.Hstore}}.hstore
);

-- Writes a row of mbus4.audit. Nothing of the caller's is evaluated here.
create function mbus4.audit_change(action text, queue text default null, consumer text default null, selector text default null,
    messages bigint default null, details jsonb default null) returns bigint
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    mbus4_id bigint;
begin
    if $1 is null or $1 !~ '^[a-z][a-z0-9_ ]{0,62}$' then
        raise exception using errcode = '22023', message = format('"%s" is no name of an action', left($1, 100)),
            hint = 'It has at most 63 small letters, digits, spaces and underscores, a letter first.';
    end if;
    if octet_length($2) > 1000 or octet_length($3) > 1000 or octet_length($4) > 65536 or octet_length($6::text) > 65536 then
        raise exception using errcode = '22023', message = 'what was changed is described in too many bytes',
            hint = 'Names have at most 1000 bytes, the selector and the details 65536 each.';
    end if;
    if $1 in ('create_queue', 'drop_queue', 'create_consumer', 'drop_consumer', 'alter_consumer', 'create_trigger', 'drop_trigger', 'pause_queue', 'resume_queue',
              'create_view', 'create_view_prop')
       and not exists (
           select from pg_roles r
           where pg_has_role(session_user, r.oid, 'member') and has_table_privilege(r.oid, 'mbus4.consumer', 'insert, update, delete')) then
        raise exception using errcode = '42501', message = format('permission denied to note that role "%s" did %s', session_user, $1),
            hint = format('That takes membership in the role mbus4_admin: grant mbus4_admin to %I.', session_user);
    end if;
    insert into mbus4.audit (at, role, acting_as, address, application, pid, action, queue, consumer, selector, messages, details)
    values (clock_timestamp(), session_user, nullif(current_setting('role'), 'none'), inet_client_addr(), nullif(current_setting('application_name'), ''), pg_backend_pid(),
            $1, $2, $3, $4, $5, $6)
    returning audit.id into mbus4_id;
    return mbus4_id;
end
$$;
revoke all on function mbus4.audit_change(text, text, text, text, bigint, jsonb) from public;

-- The operation, if it is this role's; locked until the transaction ends.
create function mbus4.operation_claim(id bigint) returns mbus4.operation
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    mbus4_operation mbus4.operation;
begin
    select o.* into mbus4_operation
    from mbus4.operation o
    where o.id = $1 and o.role_oid = to_regrole(quote_ident(session_user))
    for update;
    if not found then
        raise exception using errcode = '42704', message = format('operation %s does not exist', coalesce($1::text, 'null')),
            hint = 'Others'' operations cannot be seen: select id, kind, state from mbus4.operations.';
    end if;
    return mbus4_operation;
end
$$;
revoke all on function mbus4.operation_claim(bigint) from public;

-- Begins an operation and gives its number. until null: what is dead now.
create function mbus4.operation_begin(kind text, queue text default null, consumer text default null, selector text default null,
    since timestamptz default null, until timestamptz default null, target_queue text default null, target_consumer text default null, undoes bigint default null)
returns bigint
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    mbus4_target constant text := lower($7 collate "C");
    mbus4_undone mbus4.operation;
    mbus4_id bigint;
begin
    if $1 is null or $1 not in ('redrive', 'move', 'purge', 'undo') then
        raise exception using errcode = '22023', message = format('"%s" is not a kind of operation', left($1, 100)), hint = 'These are: redrive, move, purge, undo.';
    end if;
    if octet_length($2) > 1000 or octet_length($3) > 1000 or octet_length($4) > 65536 then
        raise exception using errcode = '22023', message = 'the messages are described in too many bytes', hint = 'Names have at most 1000 bytes, a selector 65536.';
    end if;
    if ($1 = 'move') <> ($7 is not null) or $8 is not null and $7 is null then
        raise exception using errcode = '22023', message = case $1 when 'move' then 'to move messages takes a target' else 'only what is moved has a target' end;
    end if;
    if ($1 = 'undo') <> ($9 is not null) then
        raise exception using errcode = '22023', message = case $1 when 'undo' then 'to undo takes an operation' else 'only an undo undoes an operation' end;
    end if;
    if $7 is not null then
        if not exists (select from mbus4.queue q where q.qname = mbus4_target) then
            raise exception using errcode = '42704', message = format('queue "%s" does not exist', $7);
        end if;
        if mbus4_target = 'dmq' then
            raise exception using errcode = '22023', message = 'the messages are in dmq already';
        end if;
        if $8 is not null and not exists (select from mbus4.consumer c where c.qname = mbus4_target and c.name = lower($8 collate "C") and c.target is null) then
            raise exception using errcode = '42704', message = format('queue "%s" has no consumer "%s"', $7, $8);
        end if;
    end if;
    if $9 is not null then
        mbus4_undone := mbus4.operation_claim($9);
        if mbus4_undone.kind not in ('redrive', 'move') then
            raise exception using errcode = '55000', message = format('a %s cannot be undone', mbus4_undone.kind);
        end if;
        if mbus4_undone.ended is null then
            raise exception using errcode = '55000', message = format('operation %s has not ended', $9), hint = 'Cancel it first.';
        end if;
        if not exists (select from mbus4.operation_log l where l.operation = $9) then
            raise exception using errcode = '55000', message = format('there is nothing to undo of operation %s', $9),
                hint = 'It has done nothing, was undone already, or ended more than seven days ago.';
        end if;
        if exists (select from mbus4.operation o where o.undoes = $9 and o.role_oid = mbus4_undone.role_oid and o.ended is null) then
            raise exception using errcode = '55000', message = format('operation %s is being undone already', $9);
        end if;
    end if;
    if (select count(*) from (select from mbus4.operation o where o.role_oid = to_regrole(quote_ident(session_user)) and o.ended is null limit 1000) x) >= 1000 then
        raise exception using errcode = '54000', message = format('role "%s" has too many operations that have not ended', session_user), hint = 'Cancel some.';
    end if;
    insert into mbus4.operation (role, role_oid, kind, queue, consumer, selector, since, until, target_queue, target_consumer, undoes, at)
    values (session_user, to_regrole(quote_ident(session_user)), $1, lower($2 collate "C"), lower($3 collate "C"), nullif(btrim($4, E' \t\r\n'), ''), $5,
            least($6, clock_timestamp()), mbus4_target, lower($8 collate "C"), $9, coalesce($5, '-infinity'))
    returning operation.id into mbus4_id;
    perform mbus4.audit_change('begin ' || $1, lower($2 collate "C"), lower($3 collate "C"), nullif(btrim($4, E' \t\r\n'), ''), null,
        jsonb_strip_nulls(jsonb_build_object('operation', mbus4_id, 'since', $5, 'until', $6, 'target_queue', mbus4_target, 'target_consumer', lower($8 collate "C"), 'undoes', $9)));
    return mbus4_id;
end
$$;
revoke all on function mbus4.operation_begin(text, text, text, text, timestamptz, timestamptz, text, text, bigint) from public;

-- Pauses an operation (error says why, where that was none of the role's doing), lets it go on, or cancels it; or, as interrupted, leaves it to other sessions of the
-- role, if this one runs it. A batch that is under way is waited for.
create function mbus4.operation_set(id bigint, state text, error text default null) returns void
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    mbus4_operation mbus4.operation;
begin
    if $2 is null or $2 not in ('running', 'paused', 'cancelled', 'interrupted') then
        raise exception using errcode = '22023', message = format('an operation cannot be made "%s"', left($2, 100)), hint = 'It can be made running, paused or cancelled.';
    end if;
    mbus4_operation := mbus4.operation_claim($1);
    if $2 = 'interrupted' then
        update mbus4.operation o set pid = null, backend_started = null where o.id = $1 and o.pid = pg_backend_pid();
        return;
    end if;
    if mbus4_operation.state = $2 then
        return;
    end if;
    if mbus4_operation.ended is not null then
        raise exception using errcode = '55000', message = format('operation %s has ended: it is %s', $1, mbus4_operation.state);
    end if;
    update mbus4.operation o
    set state = $2, changed = clock_timestamp(), ended = case when $2 = 'cancelled' then clock_timestamp() end, error = left($3, 1000)
    where o.id = $1;
    perform mbus4.audit_change(case $2 when 'running' then 'resume ' when 'paused' then 'pause ' else 'cancel ' end || mbus4_operation.kind, mbus4_operation.queue,
        mbus4_operation.consumer, null, null, jsonb_build_object('operation', $1));
end
$$;
revoke all on function mbus4.operation_set(bigint, text, text) from public;

-- Notes what a batch has done, in its transaction.
create function mbus4.operation_note(id bigint, looked bigint, done bigint, refused bigint, held bigint, at timestamptz, message bigint, finished boolean,
    messages mbus4.redriven_message[], backend_started timestamptz) returns mbus4.operation
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    mbus4_operation mbus4.operation := mbus4.operation_claim($1);
begin
    if mbus4_operation.state <> 'running' then
        raise exception using errcode = '55000', message = format('operation %s is %s', $1, mbus4_operation.state);
    end if;
    if cardinality($9) > 5000 or $2 < 0 or $3 < 0 or $4 < 0 or $5 < 0 then
        raise exception using errcode = '22023', message = 'no batch has done that';
    end if;
    update mbus4.operation o
    set batches = o.batches + 1, looked = o.looked + $2, done = o.done + $3, refused = o.refused + $4, held = o.held + $5, at = $6, message = $7,
        state = case when $8 then 'done' else 'running' end, ended = case when $8 then clock_timestamp() end, changed = clock_timestamp(), error = null,
        pid = pg_backend_pid(), backend_started = $10
    where o.id = $1
    returning o.* into mbus4_operation;
    if cardinality($9) > 0 then
        insert into mbus4.operation_log (operation, batch, messages) values ($1, mbus4_operation.batches, $9);
    end if;
    if $3 > 0 then
        perform mbus4.audit_change(mbus4_operation.kind, mbus4_operation.queue, mbus4_operation.consumer, mbus4_operation.selector, $3,
            jsonb_strip_nulls(jsonb_build_object('operation', $1, 'batch', mbus4_operation.batches, 'target_queue', mbus4_operation.target_queue,
                'target_consumer', mbus4_operation.target_consumer, 'undoes', mbus4_operation.undoes)));
    end if;
    return mbus4_operation;
end
$$;
revoke all on function mbus4.operation_note(bigint, bigint, bigint, bigint, bigint, timestamptz, bigint, boolean, mbus4.redriven_message[], timestamptz) from public;

-- Takes the first batch out of the log of what an undo undoes; null: there is none.
create function mbus4.operation_unlog(id bigint) returns mbus4.redriven_message[]
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
as $$
declare
    mbus4_undone constant bigint := (mbus4.operation_claim((mbus4.operation_claim($1)).undoes)).id;
    mbus4_batch int;
    mbus4_messages mbus4.redriven_message[];
begin
    select l.batch into mbus4_batch from mbus4.operation_log l where l.operation = mbus4_undone order by l.batch limit 1;
    delete from mbus4.operation_log l where l.operation = mbus4_undone and l.batch = mbus4_batch returning l.messages into mbus4_messages;
    return mbus4_messages;
end
$$;
revoke all on function mbus4.operation_unlog(bigint) from public;

-- An array written in a header; null where it is none.
create function mbus4.array_of(header text) returns text[]
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
    return $1::text[];
exception when data_exception or program_limit_exceeded then
    return null;
end
$$;

-- The condition of a selector; null where it selects everything. See engine/selectors for who makes it.
create function mbus4.condition_of(selector text) returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
    mbus4_condition text;
begin
    if coalesce(btrim($1, E' \t\r\n'), '') = '' then
        return null;
    end if;
    select s.condition into mbus4_condition
    from mbus4.selector s
    where s.id = ('x' || left(md5(convert_to($1, 'UTF8')), 16))::bit(64)::bigint and s.text = $1 and s.refused is null;
    if mbus4_condition is null then
        raise exception using errcode = '0A000', message = format('the selector %s was not checked', left($1, 1000)),
            hint = 'Let the proxy check it: call mbus4.redrive with it, and with amt => 0.';
    end if;
    return mbus4_condition;
end
$$;

-- Opens a cursor over what is dead behind a message, along the primary key: where each stands, and whether it came from the queue, for the consumer, and meets the
-- condition; null stands for all. One query for all of them: the condition is made by the proxy and can do nothing but look at the message.
create function mbus4.open_dead(at timestamptz, message bigint, until timestamptz, queue text, consumer text, condition text) returns refcursor
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
set jit = off
as $$
declare
    mbus4_cursor refcursor;
begin
    open mbus4_cursor no scroll for execute
        'select m.available_at, m.id, case when ($4 is null or m.headers operator({{.Bound}}.->) ''destination''::text = $4)'
        ' and ($5 is null or coalesce(m.headers operator({{.Bound}}.->) ''dmq.consumer''::text, ''default'') = $5) then '
        || coalesce('(select (' || $6 || ') from (select m.id, m.added::timestamp as added, mbus4.iid_of(m.iid, ''dmq'', m.available_at, m.id) as iid,'
            ' coalesce(m.delayed_until, m.added)::timestamp as delayed_until, m.expires::timestamp as expires, coalesce(m.received, ''{}'') as received,'
            ' mbus4.headers_of(''dmq'', m.added, m.headers) as headers, m.properties, m.data) t)', '1')
        || ' end is not distinct from 1 as selected'
        ' from mbus4.message m where m.consumer_id = 1 and (m.available_at, m.id) > ($1, $2) and m.available_at <= $3 order by m.available_at, m.id'
    using $1, $2, $3, $4, $5;
    return mbus4_cursor;
end
$$;

-- From where dead messages are looked for: behind the hint, as consuming does.
create function mbus4.first_dead(since timestamptz) returns timestamptz
language sql stable
set search_path = pg_catalog, pg_temp
as $$
    select greatest($1, to_timestamp(coalesce(pg_sequence_last_value(('mbus4.hint_' || coalesce(c.hint, 1))::regclass), 0) / 1000000.0))
    from mbus4.consumer c
    where c.id = 1
$$;

-- Counts what is dead along the primary key, behind a message, for a second at most: at and message say where it stopped.
create function mbus4.count_dead(queue text default null, consumer text default null, selector text default null, since timestamptz default null,
    until timestamptz default null, after_at timestamptz default null, after_message bigint default null,
    out messages bigint, out looked bigint, out at timestamptz, out message bigint, out finished boolean) returns record
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
set jit = off
as $$
#variable_conflict use_column
declare
    mbus4_began constant timestamptz := clock_timestamp();
    mbus4_until constant timestamptz := least($5, mbus4_began);
    mbus4_queue constant text := lower($1 collate "C");
    mbus4_consumer constant text := lower($2 collate "C");
    mbus4_condition constant text := mbus4.condition_of(nullif(btrim($3, E' \t\r\n'), ''));
    mbus4_cursor refcursor;
    mbus4_row record;
begin
    messages := 0;
    looked := 0;
    at := coalesce($6, mbus4.first_dead($4));
    message := coalesce($7, -1);
    finished := true;
    mbus4_cursor := mbus4.open_dead(at, message, mbus4_until, mbus4_queue, mbus4_consumer, mbus4_condition);
    loop
        fetch mbus4_cursor into mbus4_row;
        exit when not found;
        if looked % 100 = 99 and clock_timestamp() > mbus4_began + interval '1 second' then
            finished := false;
            exit;
        end if;
        looked := looked + 1;
        at := mbus4_row.available_at;
        message := mbus4_row.id;
        messages := messages + mbus4_row.selected::int;
    end loop;
    close mbus4_cursor;
end
$$;

-- What is dead, along the primary key, behind a message: amt at most. Where it gives up after a second of looking at others the last row says where, and has no iid.
create function mbus4.dead_messages(queue text default null, consumer text default null, selector text default null, since timestamptz default null,
    until timestamptz default null, after_at timestamptz default null, after_message bigint default null, amt integer default 100) returns setof mbus4.dead_message
language plpgsql volatile rows 100
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
set jit = off
as $$
#variable_conflict use_column
declare
    mbus4_began constant timestamptz := clock_timestamp();
    mbus4_until constant timestamptz := least($5, mbus4_began);
    mbus4_at constant timestamptz := coalesce($6, mbus4.first_dead($4));
    mbus4_queue constant text := lower($1 collate "C");
    mbus4_consumer constant text := lower($2 collate "C");
    mbus4_condition constant text := mbus4.condition_of(nullif(btrim($3, E' \t\r\n'), ''));
    mbus4_cursor refcursor;
    mbus4_place record;
    mbus4_row mbus4.message;
    mbus4_given int := 0;
    mbus4_looked int := 0;
    mbus4_attempt text;
begin
    if $8 < 0 then
        raise exception using errcode = '2201W', message = format('the number of messages must not be negative, but it is %s', $8);
    end if;
    mbus4_cursor := mbus4.open_dead(mbus4_at, coalesce($7, -1), mbus4_until, mbus4_queue, mbus4_consumer, mbus4_condition);
    while mbus4_given < coalesce($8, 100) loop
        fetch mbus4_cursor into mbus4_place;
        exit when not found;
        mbus4_looked := mbus4_looked + 1;
        if mbus4_looked % 100 = 0 and clock_timestamp() > mbus4_began + interval '1 second' then
            return next row(mbus4_place.available_at, mbus4_place.id, null, null, null, null, null, null, null, null, null, null)::mbus4.dead_message;
            exit;
        end if;
        continue when not mbus4_place.selected;
        select m.* into mbus4_row from mbus4.message m where m.consumer_id = 1 and m.available_at = mbus4_place.available_at and m.id = mbus4_place.id;
        continue when not found; -- somebody has got it just now
        mbus4_given := mbus4_given + 1;
        mbus4_attempt := mbus4_row.headers operator({{.Bound}}.->) 'retry.attempt'::text;
        return next row(mbus4_row.available_at, mbus4_row.id, mbus4.iid_of(mbus4_row.iid, 'dmq', mbus4_row.available_at, mbus4_row.id),
            mbus4_row.headers operator({{.Bound}}.->) 'destination'::text, mbus4_row.headers operator({{.Bound}}.->) 'dmq.consumer'::text,
            mbus4_row.available_at, mbus4_row.headers operator({{.Bound}}.->) 'dmq.error'::text,
            case when mbus4_attempt ~ '^[0-9]{1,8}$' then mbus4_attempt end::int,
            mbus4_row.expires, mbus4.headers_of('dmq', mbus4_row.added, mbus4_row.headers), mbus4_row.properties, mbus4_row.data)::mbus4.dead_message;
    end loop;
    close mbus4_cursor;
end
$$;

-- Puts a message that was dead into a queue, for a consumer or, where that is null, for those that select it: under its iid, and with no attempt
-- counted; triggers do not copy it. It does what redrive does (engine/calls/sql/whole/redrive.sql). Null: it cannot go there.
create function mbus4.put_back(m mbus4.message, queue text, consumer text) returns mbus4.redriven_message
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
#variable_conflict use_column
declare
    mbus4_iid constant text := coalesce(($1).headers operator({{.Bound}}.->) 'dmq.iid'::text, mbus4.iid_of(($1).iid, 'dmq', ($1).available_at, ($1).id));
    mbus4_headers {{.Bound}}.hstore := ($1).headers operator({{.Bound}}.-) array['destination', 'dmq.added', 'dmq.error', 'dmq.consumer', 'dmq.iid', 'retry.attempt',
        'retry.first', 'retry.last', 'retry.error'];
    mbus4_seen text := mbus4_headers operator({{.Bound}}.->) 'seenby'::text;
    mbus4_wanted text := mbus4_headers operator({{.Bound}}.->) 'consume_after'::text;
    mbus4_after text[];
    mbus4_parked boolean := false;
    mbus4_id bigint;
    mbus4_now timestamptz;
    mbus4_ids bigint[];
    mbus4_stored bigint[];
begin
    if $2 is null or $2 = 'dmq' or ($1).expires <= clock_timestamp() or not exists (select from mbus4.queue q where q.qname = $2) then
        return null;
    end if;
    if mbus4_seen is null or mbus4_seen = array[current_database()::text]::text then
        mbus4_headers := mbus4_headers operator({{.Bound}}.-) 'seenby'::text;
    else
        if mbus4.array_of(mbus4_seen) is null then
            return null;
        end if;
        mbus4_headers := mbus4_headers operator({{.Bound}}.||) {{.Bound}}.hstore('seenby'::text, array_append(mbus4.array_of(mbus4_seen), current_database()::text)::text);
    end if;
    if mbus4_wanted is not null then
        mbus4_after := mbus4.array_of(mbus4_wanted);
        if mbus4_after is null then
            return null;
        end if;
        mbus4_after := nullif(mbus4_after, '{}');
        mbus4_parked := mbus4_after is not null and mbus4.awaits_delivery(mbus4_after);
    end if;
    -- See engine/calls/sql/part/message_id.sql. The clock is read after it.
    mbus4_id := case when pg_try_advisory_xact_lock_shared(1835169140, hashtext($2) & 63) then nextval('mbus4.post_id')
                     when nextval('mbus4.message_id') > 0 then nextval('mbus4.post_id') end;
    mbus4_now := clock_timestamp();
    if $3 is null then
        mbus4_ids := array(
            select c.id
            from mbus4.consumer c
            where c.qname = $2 and c.target is null
              and (c.selector_id is null
                   or mbus4.receives(c, $2, mbus4_id, mbus4_now, mbus4_iid, null, ($1).expires, mbus4_headers, ($1).properties, ($1).data, null, false, null)));
    else
        mbus4_ids := array(select c.id from mbus4.consumer c where c.qname = $2 and c.name = $3 and c.target is null);
    end if;
    if coalesce(cardinality(mbus4_ids), 0) = 0 then
        return null;
    end if;
    -- The sums keep other indexes out of it: looked for is one iid.
    delete from mbus4.message m where m.iid = mbus4_iid and m.consumer_id + 0 = any(mbus4_ids) and m.expires + interval '0' <= mbus4_now and m.consumer_id <> 1;
    with stored as (
        insert into mbus4.message (id, consumer_id, available_at, added, iid, expires, headers, properties, data, after)
        select mbus4_id, s.consumer_id, case when mbus4_parked then 'infinity' else mbus4_now end, mbus4_now, mbus4_iid, ($1).expires, mbus4_headers, ($1).properties, ($1).data,
               mbus4_after
        from unnest(mbus4_ids) s (consumer_id)
        where (
            select 1
            from mbus4.places_of_iid(mbus4_iid) i
            join mbus4.message o on o.consumer_id = s.consumer_id and o.available_at = i.available_at and o.id = i.id
            where i.queue = $2 and o.iid is null
            for key share of o) is null
        on conflict (iid, consumer_id) where iid is not null do nothing
        returning consumer_id
    )
    select array_agg(s.consumer_id) into mbus4_stored from stored s;
    if mbus4_stored is null then
        return null;
    end if;
    if mbus4_parked then
        insert into mbus4.waiting (dep, consumer_id, id)
        select d.dep, s.consumer_id, mbus4_id
        from unnest(mbus4_after) d (dep)
        cross join unnest(mbus4_stored) s (consumer_id)
        where d.dep is not null
        on conflict do nothing;
    end if;
    delete from mbus4.message m where m.consumer_id = 1 and m.available_at = ($1).available_at and m.id = ($1).id;
    return row(mbus4_iid, mbus4_id, mbus4_stored, ($1).added, ($1).delayed_until, ($1).headers operator({{.Bound}}.-) mbus4_headers)::mbus4.redriven_message;
end
$$;

-- Takes a message back to dmq as it was, if all of its copies are as put_back has made them: nobody has one or has had one. Says whether it did.
create function mbus4.take_back(what mbus4.redriven_message) returns boolean
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
#variable_conflict use_column
declare
    mbus4_copy mbus4.message;
    mbus4_row mbus4.message;
    mbus4_copies int := 0;
    mbus4_headers {{.Bound}}.hstore;
    mbus4_id bigint;
    mbus4_now timestamptz;
begin
    -- The sums keep the primary key out of it: of an empty table all of that looks as cheap as one iid.
    for mbus4_copy in
        select m.*
        from mbus4.message m
        where m.iid = ($1).iid and m.consumer_id + 0 = any(($1).consumers) and m.id + 0 = ($1).id
          and not mbus4.is_leased(m.available_at, m.delayed_until, m.headers) and coalesce({{.Bound}}.exist(m.headers, 'retry.attempt'), false) = false
        for update skip locked
    loop
        mbus4_row := mbus4_copy;
        mbus4_copies := mbus4_copies + 1;
    end loop;
    if mbus4_copies <> cardinality(($1).consumers) then
        return false;
    end if;
    delete from mbus4.message m where m.iid = ($1).iid and m.consumer_id + 0 = any(($1).consumers) and m.id + 0 = ($1).id;
    mbus4_id := case when pg_try_advisory_xact_lock_shared(1835169140, hashtext('dmq') & 63) then nextval('mbus4.post_id')
                     when nextval('mbus4.message_id') > 0 then nextval('mbus4.post_id') end;
    mbus4_now := clock_timestamp();
    mbus4_headers := coalesce(mbus4_row.headers, '') operator({{.Bound}}.||) coalesce(($1).headers, '');
    insert into mbus4.message (id, consumer_id, available_at, added, iid, delayed_until, expires, headers, properties, data)
    values (mbus4_id, 1, mbus4_now, ($1).added, case when not {{.Bound}}.exist(mbus4_headers, 'dmq.iid') then ($1).iid end, ($1).delayed_until, mbus4_row.expires,
        mbus4_headers, mbus4_row.properties, mbus4_row.data)
    on conflict (iid, consumer_id) where iid is not null do nothing;
    if not found then -- another consumer's has died under the iid meanwhile
        insert into mbus4.message (id, consumer_id, available_at, added, delayed_until, expires, headers, properties, data)
        values (mbus4_id, 1, mbus4_now, ($1).added, ($1).delayed_until, mbus4_row.expires,
            mbus4_headers operator({{.Bound}}.||) {{.Bound}}.hstore('dmq.iid'::text, ($1).iid), mbus4_row.properties, mbus4_row.data);
    end if;
    return true;
end
$$;

-- Runs a batch of an operation of this role's, with this role's rights, and gives the operation as it then is. It deals with amt messages, comes by twenty times as
-- many, or goes on for a second, whichever comes first. An undo takes back what one batch has put back.
create function mbus4.operation_run(id bigint, amt integer default 500) returns mbus4.operation
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
set jit = off
as $$
#variable_conflict use_column
declare
    mbus4_began constant timestamptz := clock_timestamp();
    mbus4_amt constant int := greatest(1, least(coalesce($2, 500), 5000));
    mbus4_own constant timestamptz := (select a.backend_start from pg_stat_activity a where a.pid = pg_backend_pid());
    mbus4_operation mbus4.operation := mbus4.operation_claim($1);
    mbus4_condition text;
    mbus4_at timestamptz := mbus4_operation.at;
    mbus4_last bigint := mbus4_operation.message;
    mbus4_cursor refcursor;
    mbus4_place record;
    mbus4_locked mbus4.message;
    mbus4_put mbus4.redriven_message;
    mbus4_log mbus4.redriven_message[] := '{}';
    mbus4_looked bigint := 0;
    mbus4_done bigint := 0;
    mbus4_refused bigint := 0;
    mbus4_held bigint := 0;
    mbus4_finished boolean := true;
begin
    if mbus4_operation.state <> 'running' then
        return mbus4_operation;
    end if;
    if mbus4_operation.pid <> pg_backend_pid()
       and exists (select from pg_stat_activity a where a.pid = mbus4_operation.pid and a.backend_start = mbus4_operation.backend_started) then
        raise exception using errcode = '55006', message = format('operation %s is being run by the session %s', $1, mbus4_operation.pid);
    end if;

    if mbus4_operation.kind = 'undo' then
        mbus4_log := mbus4.operation_unlog($1);
        mbus4_finished := mbus4_log is null;
        foreach mbus4_put in array coalesce(mbus4_log, '{}') loop
            mbus4_looked := mbus4_looked + 1;
            if mbus4.take_back(mbus4_put) then
                mbus4_done := mbus4_done + 1;
            else
                mbus4_refused := mbus4_refused + 1;
            end if;
        end loop;
        return mbus4.operation_note($1, mbus4_looked, mbus4_done, mbus4_refused, 0, mbus4_at, mbus4_last, mbus4_finished, '{}', mbus4_own);
    end if;

    mbus4_condition := mbus4.condition_of(mbus4_operation.selector);
    if mbus4_last < 0 then
        mbus4_at := greatest(mbus4_at, mbus4.first_dead(null));
    end if;
    mbus4_cursor := mbus4.open_dead(mbus4_at, mbus4_last, mbus4_operation.until, mbus4_operation.queue, mbus4_operation.consumer, mbus4_condition);
    loop
        fetch mbus4_cursor into mbus4_place;
        exit when not found;
        if mbus4_done + mbus4_refused + mbus4_held >= mbus4_amt or mbus4_looked >= 20 * mbus4_amt
           or mbus4_looked > 0 and clock_timestamp() > mbus4_began + interval '1 second' then
            mbus4_finished := false;
            exit;
        end if;
        mbus4_looked := mbus4_looked + 1;
        mbus4_at := mbus4_place.available_at;
        mbus4_last := mbus4_place.id;
        continue when not mbus4_place.selected;
        select m.* into mbus4_locked
        from mbus4.message m
        where m.consumer_id = 1 and m.available_at = mbus4_at and m.id = mbus4_last
        for update skip locked;
        if not found then
            mbus4_held := mbus4_held + 1;
            continue;
        end if;
        if mbus4_operation.kind = 'purge' then
            delete from mbus4.message m where m.consumer_id = 1 and m.available_at = mbus4_at and m.id = mbus4_last;
            mbus4_done := mbus4_done + 1;
            continue;
        end if;
        mbus4_put := mbus4.put_back(mbus4_locked, coalesce(mbus4_operation.target_queue, mbus4_locked.headers operator({{.Bound}}.->) 'destination'::text),
            case when mbus4_operation.target_queue is null then mbus4_locked.headers operator({{.Bound}}.->) 'dmq.consumer'::text else mbus4_operation.target_consumer end);
        if mbus4_put.iid is null then
            mbus4_refused := mbus4_refused + 1;
        else
            mbus4_done := mbus4_done + 1;
            mbus4_log := mbus4_log || mbus4_put;
        end if;
    end loop;
    close mbus4_cursor;
    return mbus4.operation_note($1, mbus4_looked, mbus4_done, mbus4_refused, mbus4_held, mbus4_at, mbus4_last, mbus4_finished, mbus4_log, mbus4_own);
end
$$;

revoke all on function mbus4.array_of(text), mbus4.condition_of(text), mbus4.open_dead(timestamptz, bigint, timestamptz, text, text, text), mbus4.first_dead(timestamptz),
    mbus4.count_dead(text, text, text, timestamptz, timestamptz, timestamptz, bigint),
    mbus4.dead_messages(text, text, text, timestamptz, timestamptz, timestamptz, bigint, integer),
    mbus4.put_back(mbus4.message, text, text), mbus4.take_back(mbus4.redriven_message), mbus4.operation_run(bigint, integer) from public;

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
