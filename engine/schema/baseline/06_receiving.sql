-- Who gets a message. The calls ask for consumers with selectors and for triggers.

-- The headers of a message that is being posted, as selectors see them. The LIMIT as in posted_row.
create function mbus4.headers_posted(queue text, added timestamptz, headers {{.Hstore}}.hstore) returns {{.Hstore}}.hstore
language sql stable cost 1
as $$ select mbus4.base_headers($1, $2) operator({{.Bound}}.||) coalesce($3, '') limit 1 $$;

-- That a message which is being posted has what a consumer's selector asks for, where that is a comparison. The planner puts the body in the place of a call.
create function mbus4.has_asked(consumer mbus4.consumer, queue text, added timestamptz, headers {{.Hstore}}.hstore, properties {{.Hstore}}.hstore,
    data {{.Hstore}}.hstore) returns boolean
language sql volatile cost 1
as $$
    select (($1).asks_properties is null or $5 operator({{.Bound}}.@>) ($1).asks_properties)
       and (($1).asks_data is null or $6 operator({{.Bound}}.@>) ($1).asks_data)
       and (($1).asks_headers is null or mbus4.headers_posted($2, $3, $4) operator({{.Bound}}.@>) ($1).asks_headers)
$$;

-- Puts a copy of a message into the queue of a trigger, for those there who get it, a message of its own with what the poster gave. headers: as they are stored; after: what
-- it waits for, waits: that it has to; passed: the queues where it was, which get no other copy. A queue that does not exist gets none either.
--
-- nextval comes before the clock: see post.sql.
create function mbus4.copy_to(queue text, delayed_until timestamptz, expires timestamptz, headers {{.Hstore}}.hstore, properties {{.Hstore}}.hstore,
    data {{.Hstore}}.hstore, after text[], waits boolean, passed text[]) returns void
language plpgsql volatile
set plan_cache_mode = force_generic_plan set jit = off set enable_seqscan = off
as $$
#variable_conflict use_column
declare
    mbus4_passed constant pg_catalog.text[] := pg_catalog.array_append($9, $1);
    mbus4_after constant pg_catalog.text[] := case when $1 <> 'dmq' and pg_catalog.cardinality($7) > 0 then $7 end;
    mbus4_waits constant boolean := $8 and $1 <> 'dmq';
    mbus4_id constant bigint := case
        when pg_catalog.pg_try_advisory_xact_lock_shared(1835169140, pg_catalog.hashtext($1) & 63) then pg_catalog.nextval('mbus4.post_id')
        when pg_catalog.nextval('mbus4.message_id') > 0 then pg_catalog.nextval('mbus4.post_id') end;
    mbus4_added constant pg_catalog.timestamptz := pg_catalog.clock_timestamp();
    mbus4_at constant pg_catalog.timestamptz := case when $1 = 'dmq' then mbus4_added else greatest($2, mbus4_added) end;
    mbus4_iid constant pg_catalog.text := case when mbus4_after is not null or mbus4_at >= '2200-01-01Z'
                                    then $1 || '.' || pg_catalog.current_database()::pg_catalog.text || '.' || mbus4_id::pg_catalog.text end;
begin
    with stored as (
        insert into mbus4.message (id, consumer_id, available_at, added, iid, delayed_until, expires, headers, properties, data, after)
        select mbus4_id, c.id, case when mbus4_waits then 'infinity' else mbus4_at end, mbus4_added, mbus4_iid, $2, $3, $4, $5, $6, mbus4_after
        from mbus4.consumer c
        where c.qname = $1
          and case when c.selector_id is null and c.target is null then true
                   else mbus4.receives(c, $1, mbus4_id, mbus4_added, mbus4_iid, $2, $3, $4, $5, $6, $7, $8, mbus4_passed) end
        returning consumer_id
    )
    insert into mbus4.waiting (dep, consumer_id, id)
    select distinct d.dep, s.consumer_id, mbus4_id
    from stored s
    cross join pg_catalog.unnest(mbus4_after) d (dep)
    where mbus4_waits and d.dep is not null;
end
$$;

-- That a consumer which has a selector gets a message that is being posted to its queue. A trigger copies it, and gets nothing: false, or null where its queue is
-- not there. iid: null for one that nobody chose; for the others see copy_to.
--
-- A condition cannot fail: -1 stands for an error, which is counted. The cost: most consumers never ask, and a statement that is taken for
-- dear is compiled, which takes longer than to post.
create function mbus4.receives(consumer mbus4.consumer, queue text, id bigint, added timestamptz, iid text, delayed_until timestamptz,
    expires timestamptz, headers {{.Hstore}}.hstore, properties {{.Hstore}}.hstore, data {{.Hstore}}.hstore, after text[], waits boolean, passed text[])
returns boolean
language plpgsql volatile cost 1
as $$
declare
    mbus4_row mbus4.qt_model;
    mbus4_condition pg_catalog.text;
    mbus4_said int;
    mbus4_met boolean := true;
begin
    if ($1).selector_id is not null and not ($1).general then
        mbus4_met := mbus4.has_asked($1, $2, $4, $8, $9, $10);
    elsif ($1).selector_id is not null then
        select s.condition into mbus4_condition from mbus4.selector s where s.id = ($1).selector_id;
        mbus4_row := row($3, $4::timestamp,
            coalesce($5, $2 || '.' || pg_catalog.current_database()::pg_catalog.text || '.' || case
                when $2 = 'dmq' then (extract(epoch from $4) * 1000000::numeric)::bigint::pg_catalog.text
                when $6 >= '2200-01-01Z' then ''
                else (extract(epoch from greatest($6, $4)) * 1000000::numeric)::bigint::pg_catalog.text end || $3::pg_catalog.text),
            coalesce($6, $4)::timestamp, $7::timestamp, '{}', mbus4.base_headers($2, $4) operator({{.Bound}}.||) coalesce($8, ''), $9, $10);
        if mbus4_condition is not null then
            execute 'select ' || mbus4_condition || ' from (select ($1).id, ($1).added, ($1).iid, ($1).delayed_until, ($1).expires, ($1).received,'
                ' ($1).headers, ($1).properties, ($1).data offset 0) t' into mbus4_said using mbus4_row;
        end if;
        mbus4_met := case mbus4_said when 1 then true when -1 then mbus4.count_selector_error(($1).id, $3) < 0 end;
    end if;
    if ($1).target is null then
        return coalesce(mbus4_met, false);
    end if;
    if mbus4_met and ($1).target <> $2 and ($1).target <> all (coalesce($13, array[$2])) then
        if pg_catalog.cardinality($13) > 100 then
            raise exception using errcode = '54001', message = pg_catalog.format('the message would go from queue "%s" along more than 100 triggers, one behind another', ($13)[1]),
                hint = 'Let a trigger put it straight into the queue where it is wanted.';
        end if;
        perform mbus4.copy_to(($1).target, $6, $7,
            {{.Bound}}.hstore('enqueue_time'::pg_catalog.text, mbus4.base_headers($2, $4) operator({{.Bound}}.->) 'enqueue_time'::pg_catalog.text) operator({{.Bound}}.||) coalesce($8, ''),
            $9, $10, $11, $12, coalesce($13, array[$2]));
    end if;
    return case when exists (select from mbus4.queue q where q.qname = $2) then false end;
end
$$;
