-- Claims a message, handles it, completes it and commits, until none is left whose turn it is. What a
-- failed handler did is undone; the failure is noted, and the next attempt comes later, each time twice
-- as late, or never after the last one. Where a message's last attempt fails before anything has succeeded, that may be the handler's fault:
-- then nothing else is tried. The commit at the start fails inside a transaction block, where nothing could be committed.
declare
    mbus4_process int;
    mbus4_text pg_catalog.text; -- null: there is no handler
    mbus4_max_attempts int; -- null: there is no last one
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
    -- Of the rows that nobody has claimed, those before this place need not be looked at for now: there are none before the hint, and
    -- thousands of those since may be dead. What comes to be there later is found by beginning at the hint again, now and then and at the end.
    mbus4_from_at pg_catalog.timestamptz; -- null: begin at the hint
    mbus4_from_id bigint;
    mbus4_anew boolean; -- the look from the hint on is the next one
    mbus4_looked pg_catalog.timestamptz := mbus4_told;
begin
    {{.Process}}
    {{.Text}}
    {{.Policy}}mbus4_backoff := coalesce(mbus4_backoff, interval '1 second');
    mbus4_max_backoff := coalesce(mbus4_max_backoff, interval '1 hour');
    mbus4_jitter := coalesce(mbus4_jitter, 0.1);
    mbus4_wrong := case
        when mbus4_max_attempts not between 1 and 1000000 then pg_catalog.format('max_attempts must be between 1 and 1000000, and is %s', mbus4_max_attempts)
        when mbus4_backoff not between interval '0' and interval '365 days' then pg_catalog.format('backoff must be between 0 and 365 days, and is %s', mbus4_backoff)
        when mbus4_max_backoff not between interval '0' and interval '365 days' then pg_catalog.format('max_backoff must be between 0 and 365 days, and is %s', mbus4_max_backoff)
        when mbus4_backoff > mbus4_max_backoff then pg_catalog.format('backoff must not be longer than max_backoff, and is %s to %s', mbus4_backoff, mbus4_max_backoff)
        when not mbus4_jitter between 0::pg_catalog.float8 and 1::pg_catalog.float8 then pg_catalog.format('jitter must be between 0 and 1, and is %s', mbus4_jitter)
    end;
    if mbus4_wrong is not null then
        raise exception using errcode = '22023', message = mbus4_wrong,
            hint = 'Without them there is no last attempt, and there are pauses of 1 second that double up to 1 hour, less a tenth at most by chance.';
    end if;
    commit;
    loop
        if mbus4_from_at is null then
            mbus4_from_at := {{template "work_hint" .Parts}};
            mbus4_from_id := -9223372036854775808;
            mbus4_anew := true;
        end if;
        update mbus4.work_queue w
        set process_id = mbus4_process, fresh = false
        where w.ctid = any({{template "claimable" .Parts.With "Limit" "1" "From" "(mbus4_from_at, mbus4_from_id)"}})
        returning w.* into mbus4_row;
        if not found then
            exit when mbus4_anew;
            mbus4_from_at := null;
            continue;
        end if;
        mbus4_anew := false;
        if (mbus4_row.next_attempt_at, mbus4_row.id) > (mbus4_from_at, mbus4_from_id) then -- one that comes back may stand before the hint
            mbus4_from_at := mbus4_row.next_attempt_at;
            mbus4_from_id := mbus4_row.id;
        end if;
        mbus4_error := null;
        if mbus4_text is not null then
            begin
                execute mbus4_text using mbus4_row.payload;
                -- What they refuse is the handler's failure, not the commit's.
                set constraints all immediate;
            exception when others or assert_failure then
                get stacked diagnostics mbus4_error = message_text;
                mbus4_error := coalesce(pg_catalog.substring(mbus4_error, {{.Error}}), mbus4_error);
            end;
        end if;
        if mbus4_error is null then
            delete from mbus4.work_queue w where w.id = mbus4_row.id;
            mbus4_done := mbus4_done + 1;
        else
            mbus4_last := mbus4_row.attempts >= mbus4_max_attempts - 1;
            update mbus4.work_queue w
            set process_id = null, attempts = w.attempts + 1, last_error = mbus4_error,
                next_attempt_at = case when mbus4_last then 'infinity' else pg_catalog.clock_timestamp() + pg_catalog.make_interval(secs =>
                    least(extract(epoch from mbus4_max_backoff)::pg_catalog.float8, extract(epoch from mbus4_backoff)::pg_catalog.float8 * pg_catalog.power(2, least(w.attempts, 60)::pg_catalog.float8))
                    * (1::pg_catalog.float8 - mbus4_jitter * pg_catalog.random())) end
            where w.id = mbus4_row.id;
            mbus4_failed := mbus4_failed + 1;
        end if;
        commit;
        if mbus4_error is not null and mbus4_last and mbus4_done = 0 then
            raise notice 'process %: stopped, for the last attempt at message % has failed and none has succeeded: %', mbus4_process, mbus4_row.id, mbus4_error;
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
