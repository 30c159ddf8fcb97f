-- Puts a message back: that of a lease, or one that this transaction has consumed. It comes again after a pause, or goes to dmq after the last
-- attempt. False where the lease is gone, or the message was not consumed; so it is for a row of nulls, which take and peek give where there is no
-- message. call is the call's mark.
--
-- The id comes before the clock: from then on the hinter knows of the message (engine/housekeeping/hinter.go). The attempts at a message of a lease are
-- counted already, those at one that was consumed are counted here.
create or replace function {{.Signature}} returns boolean language plpgsql volatile
set plan_cache_mode = force_generic_plan set jit = off
as $mbus4$
#variable_conflict use_column
declare
    mbus4_part text[] := {{template "lease_parts" .With "Lease" "($2).lease" "Args" ""}};
    mbus4_message mbus4.qt_model := ($2).message;
    mbus4_error constant text := pg_catalog.left($3, 2000);
    mbus4_consumer mbus4.consumer;
    mbus4_row mbus4.message;
    mbus4_queue text;
    mbus4_attempt int;
    mbus4_pause interval;
    mbus4_drawn bigint;
    mbus4_at timestamptz;
    mbus4_now text := {{template "told" .}};
begin
    if mbus4_part is not null then
        if $5 is not null then
            perform pg_catalog.left(pg_catalog.format('mbus4-error {{.MarkOf ""}} 22023 cname must not be given together with a lease, but is %s', pg_catalog.quote_ident($5)), 2000)::int;
        end if;
        select m.* into mbus4_row
        from mbus4.message m
        where m.consumer_id = mbus4_part[1]::bigint and m.available_at = {{template "lease_end" .With "Part" "mbus4_part[4]"}} and m.id = mbus4_part[2]::bigint
          and {{template "held" .With "Row" "m" "Attempt" "mbus4_part[3]"}}
        for update;
        if not found then
            return false;
        end if;
        select c.* into mbus4_consumer from mbus4.consumer c where c.id = mbus4_row.consumer_id;
        if not found then
            return false;
        end if;
        mbus4_attempt := mbus4_part[3]::int;
    elsif mbus4_message is null then
        return false;
    else
        if mbus4_message.id is null or mbus4_message.iid is null or mbus4_message.added is null then
            perform pg_catalog.left(pg_catalog.format('mbus4-error {{.MarkOf ""}} 22004 this row is not a message: id, iid or added is null'), 2000)::int;
        end if;
        mbus4_queue := pg_catalog.lower((mbus4_message.headers operator({{.Hstore}}.->) 'destination'::text) collate "C");
        select c.* into mbus4_consumer from mbus4.consumer c where c.qname = mbus4_queue and c.name = pg_catalog.lower(coalesce($5, 'default') collate "C");
        if not found then
            perform case when exists (select from mbus4.queue q where q.qname = mbus4_queue)
                         then pg_catalog.left(pg_catalog.format('mbus4-error {{.MarkOf ""}} 42704 queue "%s" has no consumer "%s"', mbus4_queue, coalesce($5, 'default')), 2000)
                         else pg_catalog.left(pg_catalog.format('mbus4-error {{.MarkOf ""}} 42704 queue %s does not exist', coalesce('"' || mbus4_queue || '"', 'null')), 2000) end::int;
        end if;
        if exists (select from mbus4.message m where m.iid = mbus4_message.iid and m.consumer_id = mbus4_consumer.id)
           or exists (select from mbus4.places_of_iid(mbus4_message.iid) p
                      join mbus4.message m on m.consumer_id = mbus4_consumer.id and m.available_at = p.available_at and m.id = p.id
                      where p.queue = mbus4_queue and m.iid is null) then
            -- Who consumed it for another consumer and does not say so would lose it there with the commit.
            if $5 is null and exists (select from mbus4.consumer c where c.qname = mbus4_queue and c.target is null and c.id <> mbus4_consumer.id) then
                perform pg_catalog.left(pg_catalog.format('mbus4-error {{.MarkOf ""}} 42725 consumer "default" of queue "%s" still has message "%s"', mbus4_queue, mbus4_message.iid), 2000)::int;
            end if;
            return false;
        end if;
        mbus4_message.headers := {{template "attempted" .With "Headers" "mbus4_message.headers" "Time" "mbus4_now"}};
        mbus4_attempt := (mbus4_message.headers operator({{.Hstore}}.->) 'retry.attempt'::text)::int;
    end if;

    mbus4_pause := {{template "pause" .With "Given" "$4" "Row" "mbus4_consumer" "Attempt" "mbus4_attempt"}};
    if mbus4_attempt >= {{template "policy" .With "Row" "mbus4_consumer" "What" "max_attempts"}} and mbus4_consumer.id <> 1 then
        if mbus4_part is not null then
            return {{.Spent}}($1, mbus4_row.consumer_id, mbus4_row.available_at, mbus4_row.id, coalesce(mbus4_error, 'retried without an error'));
        end if;
        perform {{.Bury}}($1, mbus4_message, mbus4_consumer.name, coalesce(mbus4_error, 'retried without an error'));
        return true;
    end if;

    mbus4_drawn := {{template "message_id" .With "Queue" "mbus4_consumer.qname" "Once" ""}};
    mbus4_at := pg_catalog.clock_timestamp() + mbus4_pause;
    if mbus4_part is not null then
        update mbus4.message m
        set available_at = mbus4_at, delayed_until = mbus4_at,
            headers = case when mbus4_error is null then m.headers else m.headers operator({{.Hstore}}.||) {{.Hstore}}.hstore('retry.error'::text, mbus4_error) end
        where m.consumer_id = mbus4_row.consumer_id and m.available_at = mbus4_row.available_at and m.id = mbus4_row.id;
    else
        insert into mbus4.message (id, consumer_id, available_at, added, iid, delayed_until, expires, headers, properties, data)
        values (mbus4_message.id, mbus4_consumer.id, mbus4_at, mbus4_message.added, mbus4_message.iid, mbus4_at, mbus4_message.expires,
                case when mbus4_error is null then mbus4_message.headers
                     else mbus4_message.headers operator({{.Hstore}}.||) {{.Hstore}}.hstore('retry.error'::text, mbus4_error) end,
                mbus4_message.properties, mbus4_message.data);
    end if;
    return true;
end
$mbus4$
