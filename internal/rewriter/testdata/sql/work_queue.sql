select mbus4.add_message('{"n": 1}')
----
with mbus4_call1_args(n, "payload") as (select 1::bigint, ('{"n": 1}')::pg_catalog.jsonb),
mbus4_call1_drawn as materialized (
    select a.n, pg_catalog.nextval('mbus4.work_queue_id_seq') as id, a.payload from mbus4_call1_args a
),
mbus4_call1_stored as (insert into mbus4.work_queue (id, payload) select v.id, v.payload from mbus4_call1_drawn v),
mbus4_call1 as (select v.n, v.id as add_message from mbus4_call1_drawn v)
select (select "add_message" as "add_message" from mbus4_call1)

select * from mbus4.get_next_message(pg_backend_pid())
----
with mbus4_call1_args(n, "current_process_id") as (select 1::bigint, (pg_backend_pid())::integer),
mbus4_call1_asked as materialized (
    select a.n,
        pg_catalog.row_number() over (order by a.n) as place,
        coalesce(
            a.current_process_id, pg_catalog.
            left(
                pg_catalog.format('mbus4-error 1 _session_secret_ 22004 the process must not be null%s', a.current_process_id),
                2000
            )::int
        ) as process_id
    from mbus4_call1_args a
),
mbus4_call1_chosen as materialized (
    select w.ctid as tid, w.id, pg_catalog.row_number() over (order by w.next_attempt_at, w.id) as place
    from mbus4.work_queue w
    where w.ctid = any(
        (
            select array(
                select c.tid
                from (
                    select s.tid
                    from (
                        select w.ctid as tid
                        from mbus4.work_queue w
                        where w.process_id is null and not w.fresh and w.next_attempt_at < f.first_at
                        order by w.next_attempt_at, w.id
                        limit (select pg_catalog.count(*) from mbus4_call1_asked k)
                        for update skip locked
                    ) s
                    union all select s.tid
                    from (
                        select w.ctid as tid
                        from mbus4.work_queue w
                        where w.process_id is null and not w.fresh and w.next_attempt_at = f.first_at and w.id < f.first_id
                        order by w.next_attempt_at, w.id
                        limit (select pg_catalog.count(*) from mbus4_call1_asked k)
                        for update skip locked
                    ) s
                    union all select s.tid
                    from (
                        select w.ctid as tid
                        from mbus4.work_queue w
                        where w.process_id is null and w.fresh and w.next_attempt_at >= f.low and w.next_attempt_at <= f.now
                        order by w.next_attempt_at, w.id
                        limit (select pg_catalog.count(*) from mbus4_call1_asked k)
                        for update skip locked
                    ) s
                    union all select s.tid
                    from (
                        select w.ctid as tid
                        from mbus4.work_queue w
                        where w.process_id is null
                            and not w.fresh
                            and (w.next_attempt_at, w.id) > (f.first_at, f.first_id)
                            and w.next_attempt_at <= f.now
                        order by w.next_attempt_at, w.id
                        limit (select pg_catalog.count(*) from mbus4_call1_asked k)
                        for update skip locked
                    ) s
                ) c
                limit (select pg_catalog.count(*) from mbus4_call1_asked k)
            )
            from (
                select f.now, f.low,
                    coalesce(w.next_attempt_at, f.now) as first_at,
                    coalesce(w.id, 9223372036854775807) as first_id
                from (
                    select pg_catalog.clock_timestamp() as now,
                        coalesce(
                            pg_catalog.to_timestamp(
                                nullif(pg_catalog.pg_sequence_last_value('mbus4.hint_work'::pg_catalog.regclass), 0)::pg_catalog.float8 / 1000000.0::pg_catalog.float8
                            ),
                            '-infinity'
                        ) as low
                    offset 0
                ) f
                left join lateral (
                    select w.next_attempt_at, w.id
                    from mbus4.work_queue w
                    where w.process_id is null and w.fresh and w.next_attempt_at >= f.low and w.next_attempt_at <= f.now
                    order by w.next_attempt_at, w.id
                    limit 1
                ) w on true
                offset 0
            ) f
        )::pg_catalog.tid[]
    )
),
mbus4_call1_claimed as (
    update mbus4.work_queue w
    set process_id = k.process_id, fresh = false
    from mbus4_call1_chosen s
    join mbus4_call1_asked k on k.place = s.place
    where w.ctid = s.tid
    returning k.n, row(w.id, w.payload)::mbus4.work_message as r
),
mbus4_call1 as (select u.n, u.r as get_next_message, 1 as o from mbus4_call1_claimed u)
select *
from (select (m.r).* from (select "get_next_message" as r from mbus4_call1) m) as "get_next_message"

select mbus4.complete_message(7)
----
with mbus4_call1_args(n, "message_id") as (select 1::bigint, (7)::bigint),
mbus4_call1_completed as (delete from mbus4.work_queue w where w.id = any(array(select a.message_id from mbus4_call1_args a))),
mbus4_call1 as (select a.n, ''::pg_catalog.void as complete_message from mbus4_call1_args a)
select (select "complete_message" as "complete_message" from mbus4_call1)

select mbus4.release_messages(7)
----
with mbus4_call1_args(n, "process_id") as (select 1::bigint, (7)::integer),
mbus4_call1_released as (
    update mbus4.work_queue w
    set process_id = null, fresh = false
    from mbus4_call1_args a
    where w.process_id = any(array(select p.process_id from mbus4_call1_args p)) and w.process_id = a.process_id
    returning a.n
),
mbus4_call1 as (
    select a.n, pg_catalog.count(u.n) as release_messages
    from mbus4_call1_args a
    left join mbus4_call1_released u on u.n = a.n
    group by a.n
)
select (select "release_messages" as "release_messages" from mbus4_call1)

# The loop is a statement of its own, for CALL can only commit alone.
call mbus4.process_queue(7, 'insert into done values ($1)')
---- unprepared
do $mbus4$
declare
    mbus4_process int;
    mbus4_text pg_catalog.text;
    mbus4_max_attempts int;
    mbus4_backoff interval;
    mbus4_max_backoff interval;
    mbus4_jitter pg_catalog.float8;
    mbus4_wrong pg_catalog.text;
    mbus4_last boolean;
    mbus4_row mbus4.work_queue;
    mbus4_error pg_catalog.text;
    mbus4_done bigint := 0;
    mbus4_failed bigint := 0;
    mbus4_told pg_catalog.timestamptz := pg_catalog.clock_timestamp();
    mbus4_from_at pg_catalog.timestamptz;
    mbus4_from_id bigint;
    mbus4_anew boolean;
    mbus4_looked pg_catalog.timestamptz := mbus4_told;
begin
    mbus4_process := 7;
    mbus4_text := 'insert into done values ($1)';
    mbus4_backoff := coalesce(mbus4_backoff, interval '1 second');
    mbus4_max_backoff := coalesce(mbus4_max_backoff, interval '1 hour');
    mbus4_jitter := coalesce(mbus4_jitter, 0.1);
    mbus4_wrong := case
        when mbus4_max_attempts not between 1 and 1000000
            then pg_catalog.format('max_attempts must be between 1 and 1000000, and is %s', mbus4_max_attempts)
        when mbus4_backoff not between interval '0'
            and interval '365 days'
            then pg_catalog.format('backoff must be between 0 and 365 days, and is %s', mbus4_backoff)
        when mbus4_max_backoff not between interval '0'
            and interval '365 days'
            then pg_catalog.format('max_backoff must be between 0 and 365 days, and is %s', mbus4_max_backoff)
        when mbus4_backoff > mbus4_max_backoff
            then pg_catalog.format(
                'backoff must not be longer than max_backoff, and is %s to %s', mbus4_backoff, mbus4_max_backoff
            )
        when not mbus4_jitter between 0::pg_catalog.float8
            and 1::pg_catalog.float8
            then pg_catalog.format('jitter must be between 0 and 1, and is %s', mbus4_jitter)
    end;
    if mbus4_wrong is not null then
        raise exception using errcode = '22023', message = mbus4_wrong,
            hint = 'Without them there is no last attempt, and there are pauses of 1 second that double up to 1 hour, less a tenth at most by chance.';
    end if;
    commit;
    loop
        if mbus4_from_at is null then
            mbus4_from_at := coalesce(
                pg_catalog.to_timestamp(
                    nullif(pg_catalog.pg_sequence_last_value('mbus4.hint_work'::pg_catalog.regclass), 0)::pg_catalog.float8 / 1000000.0::pg_catalog.float8
                ),
                '-infinity'
            );
            mbus4_from_id := -9223372036854775808;
            mbus4_anew := true;
        end if;
        update mbus4.work_queue w
        set process_id = mbus4_process, fresh = false
        where w.ctid = any(
            (
                select array(
                    select c.tid
                    from (
                        select s.tid
                        from (
                            select w.ctid as tid
                            from mbus4.work_queue w
                            where w.process_id is null and not w.fresh and w.next_attempt_at < f.first_at
                            order by w.next_attempt_at, w.id
                            limit 1
                            for update skip locked
                        ) s
                        union all select s.tid
                        from (
                            select w.ctid as tid
                            from mbus4.work_queue w
                            where w.process_id is null and not w.fresh and w.next_attempt_at = f.first_at and w.id < f.first_id
                            order by w.next_attempt_at, w.id
                            limit 1
                            for update skip locked
                        ) s
                        union all select s.tid
                        from (
                            select w.ctid as tid
                            from mbus4.work_queue w
                            where w.process_id is null
                                and w.fresh
                                and (w.next_attempt_at, w.id) >= (mbus4_from_at, mbus4_from_id)
                                and w.next_attempt_at <= f.now
                            order by w.next_attempt_at, w.id
                            limit 1
                            for update skip locked
                        ) s
                        union all select s.tid
                        from (
                            select w.ctid as tid
                            from mbus4.work_queue w
                            where w.process_id is null
                                and not w.fresh
                                and (w.next_attempt_at, w.id) > (f.first_at, f.first_id)
                                and w.next_attempt_at <= f.now
                            order by w.next_attempt_at, w.id
                            limit 1
                            for update skip locked
                        ) s
                    ) c
                    limit 1
                )
                from (
                    select f.now, coalesce(w.next_attempt_at, f.now) as first_at, coalesce(w.id, 9223372036854775807) as first_id
                    from (select pg_catalog.clock_timestamp() as now offset 0) f
                    left join lateral (
                        select w.next_attempt_at, w.id
                        from mbus4.work_queue w
                        where w.process_id is null
                            and w.fresh
                            and (w.next_attempt_at, w.id) >= (mbus4_from_at, mbus4_from_id)
                            and w.next_attempt_at <= f.now
                        order by w.next_attempt_at, w.id
                        limit 1
                    ) w on true
                    offset 0
                ) f
            )::pg_catalog.tid[]
        )
        returning w.* into mbus4_row;
        if not found then
            exit when mbus4_anew;
            mbus4_from_at := null;
            continue;
        end if;
        mbus4_anew := false;
        if (mbus4_row.next_attempt_at, mbus4_row.id) > (mbus4_from_at, mbus4_from_id) then
            mbus4_from_at := mbus4_row.next_attempt_at;
            mbus4_from_id := mbus4_row.id;
        end if;
        mbus4_error := null;
        if mbus4_text is not null then
            begin
                execute mbus4_text using mbus4_row.payload;
                set constraints all immediate;
            exception when others or assert_failure then
                get stacked diagnostics mbus4_error = message_text;
                mbus4_error := coalesce(
                    pg_catalog.substring(mbus4_error, 'mbus4-error [0-9]+ _session_secret_ [0-9A-Z]{5} (.*)"$'), mbus4_error
                );
            end;
        end if;
        if mbus4_error is null then
            delete from mbus4.work_queue w where w.id = mbus4_row.id;
            mbus4_done := mbus4_done + 1;
        else
            mbus4_last := mbus4_row.attempts >= mbus4_max_attempts - 1;
            update mbus4.work_queue w
            set process_id = null, attempts = w.attempts + 1, last_error = mbus4_error,
                next_attempt_at = case
                    when mbus4_last then 'infinity'
                    else pg_catalog.clock_timestamp() + pg_catalog.make_interval(
                        secs => least(
                            extract(epoch from mbus4_max_backoff)::pg_catalog.float8,
                            extract(epoch from mbus4_backoff)::pg_catalog.float8 * pg_catalog.power(
                                2, least(w.attempts, 60)::pg_catalog.float8
                            )
                        ) * (1::pg_catalog.float8 - mbus4_jitter * pg_catalog.random())
                    )
                end
            where w.id = mbus4_row.id;
            mbus4_failed := mbus4_failed + 1;
        end if;
        commit;
        if mbus4_error is not null and mbus4_last and mbus4_done = 0 then
            raise notice 'process %: stopped, for the last attempt at message % has failed and none has succeeded: %',
            mbus4_process, mbus4_row.id, mbus4_error;
            exit;
        end if;
        if pg_catalog.clock_timestamp() > mbus4_looked + interval '1 second' then
            mbus4_looked := pg_catalog.clock_timestamp();
            mbus4_from_at := null;
        end if;
        if pg_catalog.clock_timestamp() > mbus4_told + interval '2 seconds' then
            mbus4_told := pg_catalog.clock_timestamp();
            raise notice 'process %: % messages completed, % failed', mbus4_process, mbus4_done, mbus4_failed;
        end if;
    end loop;
end
$mbus4$
---- prepared
-- whenever it is bound:
do $mbus4$
declare
    mbus4_process int;
    mbus4_text pg_catalog.text;
    mbus4_max_attempts int;
    mbus4_backoff interval;
    mbus4_max_backoff interval;
    mbus4_jitter pg_catalog.float8;
    mbus4_wrong pg_catalog.text;
    mbus4_last boolean;
    mbus4_row mbus4.work_queue;
    mbus4_error pg_catalog.text;
    mbus4_done bigint := 0;
    mbus4_failed bigint := 0;
    mbus4_told pg_catalog.timestamptz := pg_catalog.clock_timestamp();
    mbus4_from_at pg_catalog.timestamptz;
    mbus4_from_id bigint;
    mbus4_anew boolean;
    mbus4_looked pg_catalog.timestamptz := mbus4_told;
begin
    mbus4_process := 7;
    mbus4_text := 'insert into done values ($1)';
    mbus4_backoff := coalesce(mbus4_backoff, interval '1 second');
    mbus4_max_backoff := coalesce(mbus4_max_backoff, interval '1 hour');
    mbus4_jitter := coalesce(mbus4_jitter, 0.1);
    mbus4_wrong := case
        when mbus4_max_attempts not between 1 and 1000000
            then pg_catalog.format('max_attempts must be between 1 and 1000000, and is %s', mbus4_max_attempts)
        when mbus4_backoff not between interval '0'
            and interval '365 days'
            then pg_catalog.format('backoff must be between 0 and 365 days, and is %s', mbus4_backoff)
        when mbus4_max_backoff not between interval '0'
            and interval '365 days'
            then pg_catalog.format('max_backoff must be between 0 and 365 days, and is %s', mbus4_max_backoff)
        when mbus4_backoff > mbus4_max_backoff
            then pg_catalog.format(
                'backoff must not be longer than max_backoff, and is %s to %s', mbus4_backoff, mbus4_max_backoff
            )
        when not mbus4_jitter between 0::pg_catalog.float8
            and 1::pg_catalog.float8
            then pg_catalog.format('jitter must be between 0 and 1, and is %s', mbus4_jitter)
    end;
    if mbus4_wrong is not null then
        raise exception using errcode = '22023', message = mbus4_wrong,
            hint = 'Without them there is no last attempt, and there are pauses of 1 second that double up to 1 hour, less a tenth at most by chance.';
    end if;
    commit;
    loop
        if mbus4_from_at is null then
            mbus4_from_at := coalesce(
                pg_catalog.to_timestamp(
                    nullif(pg_catalog.pg_sequence_last_value('mbus4.hint_work'::pg_catalog.regclass), 0)::pg_catalog.float8 / 1000000.0::pg_catalog.float8
                ),
                '-infinity'
            );
            mbus4_from_id := -9223372036854775808;
            mbus4_anew := true;
        end if;
        update mbus4.work_queue w
        set process_id = mbus4_process, fresh = false
        where w.ctid = any(
            (
                select array(
                    select c.tid
                    from (
                        select s.tid
                        from (
                            select w.ctid as tid
                            from mbus4.work_queue w
                            where w.process_id is null and not w.fresh and w.next_attempt_at < f.first_at
                            order by w.next_attempt_at, w.id
                            limit 1
                            for update skip locked
                        ) s
                        union all select s.tid
                        from (
                            select w.ctid as tid
                            from mbus4.work_queue w
                            where w.process_id is null and not w.fresh and w.next_attempt_at = f.first_at and w.id < f.first_id
                            order by w.next_attempt_at, w.id
                            limit 1
                            for update skip locked
                        ) s
                        union all select s.tid
                        from (
                            select w.ctid as tid
                            from mbus4.work_queue w
                            where w.process_id is null
                                and w.fresh
                                and (w.next_attempt_at, w.id) >= (mbus4_from_at, mbus4_from_id)
                                and w.next_attempt_at <= f.now
                            order by w.next_attempt_at, w.id
                            limit 1
                            for update skip locked
                        ) s
                        union all select s.tid
                        from (
                            select w.ctid as tid
                            from mbus4.work_queue w
                            where w.process_id is null
                                and not w.fresh
                                and (w.next_attempt_at, w.id) > (f.first_at, f.first_id)
                                and w.next_attempt_at <= f.now
                            order by w.next_attempt_at, w.id
                            limit 1
                            for update skip locked
                        ) s
                    ) c
                    limit 1
                )
                from (
                    select f.now, coalesce(w.next_attempt_at, f.now) as first_at, coalesce(w.id, 9223372036854775807) as first_id
                    from (select pg_catalog.clock_timestamp() as now offset 0) f
                    left join lateral (
                        select w.next_attempt_at, w.id
                        from mbus4.work_queue w
                        where w.process_id is null
                            and w.fresh
                            and (w.next_attempt_at, w.id) >= (mbus4_from_at, mbus4_from_id)
                            and w.next_attempt_at <= f.now
                        order by w.next_attempt_at, w.id
                        limit 1
                    ) w on true
                    offset 0
                ) f
            )::pg_catalog.tid[]
        )
        returning w.* into mbus4_row;
        if not found then
            exit when mbus4_anew;
            mbus4_from_at := null;
            continue;
        end if;
        mbus4_anew := false;
        if (mbus4_row.next_attempt_at, mbus4_row.id) > (mbus4_from_at, mbus4_from_id) then
            mbus4_from_at := mbus4_row.next_attempt_at;
            mbus4_from_id := mbus4_row.id;
        end if;
        mbus4_error := null;
        if mbus4_text is not null then
            begin
                execute mbus4_text using mbus4_row.payload;
                set constraints all immediate;
            exception when others or assert_failure then
                get stacked diagnostics mbus4_error = message_text;
                mbus4_error := coalesce(
                    pg_catalog.substring(mbus4_error, 'mbus4-error [0-9]+ _session_secret_ [0-9A-Z]{5} (.*)"$'), mbus4_error
                );
            end;
        end if;
        if mbus4_error is null then
            delete from mbus4.work_queue w where w.id = mbus4_row.id;
            mbus4_done := mbus4_done + 1;
        else
            mbus4_last := mbus4_row.attempts >= mbus4_max_attempts - 1;
            update mbus4.work_queue w
            set process_id = null, attempts = w.attempts + 1, last_error = mbus4_error,
                next_attempt_at = case
                    when mbus4_last then 'infinity'
                    else pg_catalog.clock_timestamp() + pg_catalog.make_interval(
                        secs => least(
                            extract(epoch from mbus4_max_backoff)::pg_catalog.float8,
                            extract(epoch from mbus4_backoff)::pg_catalog.float8 * pg_catalog.power(
                                2, least(w.attempts, 60)::pg_catalog.float8
                            )
                        ) * (1::pg_catalog.float8 - mbus4_jitter * pg_catalog.random())
                    )
                end
            where w.id = mbus4_row.id;
            mbus4_failed := mbus4_failed + 1;
        end if;
        commit;
        if mbus4_error is not null and mbus4_last and mbus4_done = 0 then
            raise notice 'process %: stopped, for the last attempt at message % has failed and none has succeeded: %',
            mbus4_process, mbus4_row.id, mbus4_error;
            exit;
        end if;
        if pg_catalog.clock_timestamp() > mbus4_looked + interval '1 second' then
            mbus4_looked := pg_catalog.clock_timestamp();
            mbus4_from_at := null;
        end if;
        if pg_catalog.clock_timestamp() > mbus4_told + interval '2 seconds' then
            mbus4_told := pg_catalog.clock_timestamp();
            raise notice 'process %: % messages completed, % failed', mbus4_process, mbus4_done, mbus4_failed;
        end if;
    end loop;
end
$mbus4$;
-- when it is parsed:
call mbus4.queue_processed((7)::integer, ('insert into done values ($1)')::pg_catalog.text)
