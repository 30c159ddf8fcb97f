-- Puts messages of dmq back to where they came from, the oldest first, with the queue that their header destination names and, where it is known, the
-- consumer: those of one queue, or that a selector selects, or all; $4 at most. Gives their number. Those stay whose queue or consumer is gone, that have
-- expired, that nobody selects any more, or that were posted again under their iid: a NOTICE counts them, by what is in the way. A queue that is not there, and
-- from which nothing came, is an error. call is the call's mark.
--
-- Each is looked for by itself, from where the last one stood: there is one plan, however many lie there.
create or replace function {{.Signature}} returns bigint language plpgsql volatile
set plan_cache_mode = force_generic_plan set jit = off
as $mbus4$
#variable_conflict use_column
declare
    mbus4_row mbus4.message;
    mbus4_message mbus4.qt_model;
    mbus4_selector_id bigint;
    mbus4_condition text;
    mbus4_said int;
    mbus4_at timestamptz := '-infinity';
    mbus4_last bigint := 0;
    mbus4_queue text;
    mbus4_consumer text;
    mbus4_ids bigint[];
    mbus4_id bigint;
    mbus4_iid text;
    mbus4_headers {{.Hstore}}.hstore;
    mbus4_now timestamptz;
    mbus4_done bigint := 0;
    mbus4_came boolean := false;
    mbus4_gone bigint := 0;
    mbus4_expired bigint := 0;
    mbus4_unwanted bigint := 0;
    mbus4_taken bigint := 0;
begin
    if $4 < 0 then
        perform pg_catalog.left(pg_catalog.format('mbus4-error {{.MarkOf ""}} 2201W the number of messages must not be negative, but it is %s', $4), 2000)::int;
    end if;
    if pg_catalog.btrim($3, E' \t\r\n') <> '' then
        select s.id, s.condition into mbus4_selector_id, mbus4_condition
        from (select $3 as text) a
        {{template "selector_row" .With "Selector" "a.text"}};
        if mbus4_selector_id is null then
            perform mbus4.no_selector($1, $3);
        end if;
    end if;
    while $4 is null or mbus4_done < $4 loop
        select m.* into mbus4_row
        from mbus4.message m
        where m.consumer_id = 1 and (m.available_at, m.id) > (mbus4_at, mbus4_last) and m.available_at <= pg_catalog.clock_timestamp()
        order by m.available_at, m.id
        limit 1
        for update skip locked;
        exit when not found;
        mbus4_at := mbus4_row.available_at;
        mbus4_last := mbus4_row.id;
        mbus4_queue := mbus4_row.headers operator({{.Hstore}}.->) 'destination'::text;
        continue when mbus4_queue is null or mbus4_queue <> pg_catalog.lower($2 collate "C");
        mbus4_came := true;
        if mbus4_condition is not null then
            mbus4_message := {{template "message" .With "Row" "mbus4_row" "Queue" "'dmq'"}};
            execute 'select (' || mbus4_condition || ') from (select ($1).id, ($1).added, ($1).iid, ($1).delayed_until,' ||
                ' ($1).expires, ($1).received, ($1).headers, ($1).properties, ($1).data offset 0) t' into mbus4_said using mbus4_message;
            continue when mbus4_said is distinct from 1;
        end if;

        mbus4_consumer := mbus4_row.headers operator({{.Hstore}}.->) 'dmq.consumer'::text;
        mbus4_iid := coalesce(mbus4_row.headers operator({{.Hstore}}.->) 'dmq.iid'::text, {{template "row_iid" .With "Row" "mbus4_row" "Queue" "'dmq'"}});
        mbus4_headers := mbus4_row.headers operator({{.Hstore}}.-) array['destination', 'dmq.added', 'dmq.error', 'dmq.consumer', 'dmq.iid', 'retry.attempt', 'retry.first',
            'retry.last', 'retry.error'];
        if mbus4_headers operator({{.Hstore}}.->) 'seenby'::text = array[pg_catalog.current_database()::text]::text then
            mbus4_headers := mbus4_headers operator({{.Hstore}}.-) 'seenby'::text;
        end if;
        mbus4_ids := null;
        if mbus4_queue = 'dmq' or not exists (select from mbus4.queue q where q.qname = mbus4_queue) then
            mbus4_gone := mbus4_gone + 1;
        elsif mbus4_row.expires <= pg_catalog.clock_timestamp() then
            mbus4_expired := mbus4_expired + 1;
        else
            mbus4_id := {{template "message_id" .With "Queue" "mbus4_queue" "Once" ""}};
            mbus4_now := pg_catalog.clock_timestamp();
            if mbus4_consumer is null then
                select pg_catalog.array_agg(c.id) into mbus4_ids
                from mbus4.consumer c
                where c.qname = mbus4_queue and c.target is null
                  and case when c.selector_id is null then true
                           else mbus4.receives(c, mbus4_queue, mbus4_id, mbus4_now, mbus4_iid, null, mbus4_row.expires, mbus4_headers, mbus4_row.properties, mbus4_row.data, null, false, null) end;
                if mbus4_ids is null then
                    mbus4_unwanted := mbus4_unwanted + 1;
                end if;
            else
                select array[c.id] into mbus4_ids from mbus4.consumer c where c.qname = mbus4_queue and c.name = mbus4_consumer;
                if mbus4_ids is null then
                    mbus4_gone := mbus4_gone + 1;
                end if;
            end if;
        end if;
        continue when mbus4_ids is null;
        begin
            delete from mbus4.message m where m.consumer_id = 1 and m.available_at = mbus4_at and m.id = mbus4_last;
            perform {{.PostGiven}}($1, mbus4_queue, mbus4_id, mbus4_now, mbus4_iid, null, mbus4_row.expires, mbus4_headers, mbus4_row.properties, mbus4_row.data, mbus4_ids, false);
            mbus4_done := mbus4_done + 1;
        exception when unique_violation or invalid_text_representation then
            mbus4_taken := mbus4_taken + 1;
        end;
    end loop;
    if $2 is not null and not mbus4_came and not exists (select from mbus4.queue q where q.qname = pg_catalog.lower($2 collate "C")) then
        perform pg_catalog.left(pg_catalog.format('mbus4-error {{.MarkOf ""}} 42704 queue "%s" does not exist', $2), 2000)::int;
    end if;
    if mbus4_gone + mbus4_expired + mbus4_unwanted + mbus4_taken > 0 then
        raise notice 'messages that stay in dmq: %', pg_catalog.concat_ws(', ', nullif(mbus4_gone, 0) || ' whose queue or consumer is gone',
            nullif(mbus4_expired, 0) || ' that expired', nullif(mbus4_unwanted, 0) || ' that no consumer selects',
            nullif(mbus4_taken, 0) || ' whose iid the consumer has again or whose headers cannot be read');
    end if;
    return mbus4_done;
end
$mbus4$
