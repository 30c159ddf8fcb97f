-- Selectors as data: rows that only the schema's owner writes. A text/template as the others; what else
-- belongs to this step is recompileSelectors, which runs in the same transaction.

-- The texts of selectors that consumers and triggers use or are about to, and what selector.Compile made of
-- them. Clients read it. A row is made before the statement that refers to it runs; see Selectors.
create table mbus4.selector (
    id         bigint not null primary key, -- the first 8 bytes of the md5 of the text in UTF-8
    text       text not null,
    -- What the message's columns must contain, where that is all that the selector asks; else null.
    headers    {{.Hstore}}.hstore,
    properties {{.Hstore}}.hstore,
    data       {{.Hstore}}.hstore,
    -- SQL over t, a row of mbus4.qt_model: 1 matches, 0 does not, -1 stands for an error.
    condition  text not null,
    can_fail   boolean not null,            -- the condition may be -1
    -- Why the text is no selector any more; then it selects nothing. Such a row was let in when the schema
    -- was upgraded with --disable-bad-selectors.
    refused    text,
    version    int not null,                -- selector.Version that made it
    major      int not null,                -- and the server's for which it was made
    maker      name not null,               -- the login role of the session that asked first
    wanted     timestamptz not null default now() -- when it was last asked for, within a minute
);
create index selector_wanted on mbus4.selector (wanted);
create index selector_maker on mbus4.selector (maker);

-- What the selector's row says, for posting reads consumers only. general: it takes the condition to decide.
alter table mbus4.consumer add column asks_headers {{.Hstore}}.hstore;
alter table mbus4.consumer add column asks_properties {{.Hstore}}.hstore;
alter table mbus4.consumer add column asks_data {{.Hstore}}.hstore;
alter table mbus4.consumer add column general boolean not null
    generated always as (selector_id is not null and asks_headers is null and asks_properties is null and asks_data is null) stored;
create index consumer_selector_id on mbus4.consumer (selector_id) where selector_id is not null;

-- Not valid: what there is gets its rows only now. The next step validates it.
alter table mbus4.consumer add foreign key (selector_id) references mbus4.selector not valid;

-- Where the errors of a consumer's selector are counted: in the sequences mbus4.selector_errors_<slot> and
-- mbus4.selector_message_<slot>, which no transaction holds and no rollback empties. Housekeeping gives the
-- slots out and takes them back; the sequences stay, since one that is dropped would fail the post that is
-- about to count.
create table mbus4.selector_slot (
    slot        int not null primary key,
    consumer_id bigint unique, -- null: free
    base        bigint not null -- what the first sequence showed when the consumer got the slot
);

-- Counts an error of a consumer's selector. It cannot fail for want of a sequence: a slot's are made with it.
create function mbus4.count_selector_error(consumer bigint, message bigint) returns bigint
language sql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
    select greatest(nextval(format('mbus4.selector_errors_%s', s.slot)::regclass), setval(format('mbus4.selector_message_%s', s.slot)::regclass, $2))
    from mbus4.selector_slot s
    where s.consumer_id = $1
$$;
revoke all on function mbus4.count_selector_error(bigint, bigint) from public;

-- What was counted, for the view: sequences are read with the rights of whoever asks, and this asks with the owner's.
create function mbus4.selector_error_counts(out queue text, out consumer text, out selector text, out errors bigint, out last_message_id bigint)
returns setof record
language sql stable security definer
set search_path = pg_catalog, pg_temp
as $$
    select c.queue, c.name, c.selector, e.errors,
           case when e.errors > 0 then pg_sequence_last_value(format('mbus4.selector_message_%s', s.slot)::regclass) end
    from mbus4.consumer c
    left join mbus4.selector_slot s on s.consumer_id = c.id
    cross join lateral (
        select case when s.slot is not null then coalesce(pg_sequence_last_value(format('mbus4.selector_errors_%s', s.slot)::regclass), 0) - s.base end as errors
        offset 0
    ) e
    where c.selector_id is not null
$$;
revoke all on function mbus4.selector_error_counts() from public;

-- errors is null where none can happen, and where they are not counted: yet, or because there are too many consumers.
create view mbus4.selector_errors as select e.queue, e.consumer, e.selector, e.errors, e.last_message_id from mbus4.selector_error_counts() e;

-- The message's row, written as SQL, for the conditions: a subquery t. What they do not name is left out.
create function mbus4.row_text(t mbus4.qt_model, conditions text) returns text
language sql stable
as $$
    select pg_catalog.format('(select %L::pg_catalog.int8 as id, %L::pg_catalog.timestamp as added, %L::pg_catalog.text as iid,'
               ' %L::pg_catalog.timestamp as delayed_until, %L::pg_catalog.timestamp as expires, %L::pg_catalog.int4[] as received,'
               ' %L::{{.Hstore}}.hstore as headers, %L::{{.Hstore}}.hstore as properties, %L::{{.Hstore}}.hstore as data offset 0) t',
               ($1).id, ($1).added, ($1).iid, ($1).delayed_until, ($1).expires, ($1).received,
               case when pg_catalog.strpos($2, 'headers') > 0 then ($1).headers end,
               case when pg_catalog.strpos($2, 'properties') > 0 then ($1).properties end,
               case when pg_catalog.strpos($2, 'data') > 0 then ($1).data end)
$$;

-- The consumers of a queue, or its triggers, whose selectors take their conditions to decide and are met by the
-- message: one query for all of them. pg_catalog.ts_stat is how an expression runs a text of SQL; it only reads. The
-- text is made of conditions, which cannot fail, and of the message. Its words are selectors' ids, after y where
-- the message matches and after n where there was an error, which is counted.
create function mbus4.general_consumers(queue text, triggers boolean, t mbus4.qt_model) returns bigint[]
language sql volatile
as $$
    with word as materialized (
        select pg_catalog.left(w.word, 1) as said, pg_catalog.substr(w.word, 2)::bigint as selector_id
        from (
            select pg_catalog.string_agg(pg_catalog.format(
                       '(array[''n%s'', null, ''y%s'']::pg_catalog.text[])[(%s) operator(pg_catalog.+) 2]', s.id, s.id, s.condition), ', ') as conditions
            from mbus4.selector s
            where s.id = any(array(select c.selector_id from mbus4.consumer c where c.queue = $1 and c.general and (c.target is not null) = $2))
        ) x
        cross join lateral pg_catalog.ts_stat(
            'select pg_catalog.array_to_tsvector(pg_catalog.array_remove(array[' || x.conditions || ']::pg_catalog.text[], null)) from '
            || mbus4.row_text($3, x.conditions)) w
    )
    select pg_catalog.array_agg(c.id::bigint)
    from word w
    join mbus4.consumer c on c.queue = $1 and c.general and c.selector_id = w.selector_id and (c.target is not null) = $2
    where case when w.said = 'y' then true else mbus4.count_selector_error(c.id, ($3).id) < 0 end
$$;

-- The consumers of a queue, or its triggers, that have selectors which the message meets.
create function mbus4.selecting_consumers(queue text, triggers boolean, t mbus4.qt_model) returns bigint[]
language sql volatile
as $$
    select pg_catalog.array_cat(
        (select pg_catalog.array_agg(c.id::bigint)
         from mbus4.consumer c
         where c.queue = $1 and c.selector_id is not null and not c.general and (c.target is not null) = $2
           and (c.asks_headers is null or ($3).headers operator({{.Hstore}}.@>) c.asks_headers)
           and (c.asks_properties is null or ($3).properties operator({{.Hstore}}.@>) c.asks_properties)
           and (c.asks_data is null or ($3).data operator({{.Hstore}}.@>) c.asks_data)),
        case when exists (select from mbus4.consumer c where c.queue = $1 and c.general and (c.target is not null) = $2)
             then mbus4.general_consumers($1, $2, $3) end)
$$;

-- As in 0004, asked once for each queue that the message comes to.
create or replace function mbus4.forward(queue text, t mbus4.qt_model, delayed_until timestamptz, expires timestamptz, after text[])
returns bigint
language sql volatile
as $$
    with recursive way (queue, path) as (
        select c.target, array[$1, c.target]
        from (
            select case when exists (select from mbus4.consumer c where c.queue = $1 and c.target is not null and c.selector_id is not null)
                        then mbus4.selecting_consumers($1, true, $2) end as selecting
            offset 0
        ) s
        join mbus4.consumer c on c.queue = $1 and c.target <> $1 and (c.selector_id is null or c.id = any(s.selecting))
        union all
        select c.target, w.path || c.target
        from way w
        cross join lateral (
            select case when exists (select from mbus4.consumer c where c.queue = w.queue and c.target is not null and c.selector_id is not null)
                        then mbus4.selecting_consumers(w.queue, true, $2) end as selecting
            offset 0
        ) s
        join mbus4.consumer c on c.queue = w.queue and (c.selector_id is null or c.id = any(s.selecting))
        where c.target <> all (w.path)
    ), copy as materialized (
        select x.queue, x.id, pg_catalog.clock_timestamp() as added,
               case when x.queue <> 'dmq' and pg_catalog.cardinality($5) > 0 then $5 end as after,
               x.queue <> 'dmq' and mbus4.any_undelivered($5) as parked
        from (select w.queue, pg_catalog.nextval('mbus4.message_id') as id from way w offset 0) x
    ), stored as (
        insert into mbus4.message (id, consumer_id, available_at, added, iid, delayed_until, expires, headers, properties, data, after)
        select y.id, c.id, case when y.parked then 'infinity' else greatest($3, y.added) end, y.added,
               case when y.after is not null or $3 >= '2200-01-01Z' then y.queue || '.' || pg_catalog.current_database() || '.' || y.id end,
               $3, $4, ($2).headers, ($2).properties, ($2).data, y.after
        from copy y
        cross join lateral (
            select case when exists (select from mbus4.consumer c where c.queue = y.queue and c.target is null and c.selector_id is not null)
                        then mbus4.selecting_consumers(y.queue, false, row(y.id, y.added,
                            case when y.after is not null or $3 >= '2200-01-01Z' then y.queue || '.' || pg_catalog.current_database() || '.' || y.id
                                 else y.queue || '.' || pg_catalog.current_database() || '.'
                                     || (extract(epoch from greatest($3, y.added)) * 1000000)::bigint || y.id end,
                            ($2).delayed_until, ($2).expires, null, ($2).headers, ($2).properties, ($2).data)::mbus4.qt_model) end as selecting
            offset 0
        ) s
        join mbus4.consumer c on c.queue = y.queue and c.target is null and (c.selector_id is null or c.id = any(s.selecting))
        returning id, consumer_id
    ), waits as (
        insert into mbus4.waiting (dep, consumer_id, id)
        select distinct dep, s.consumer_id, s.id
        from stored s
        join copy y on y.id = s.id and y.parked
        cross join pg_catalog.unnest(y.after) dep
        where dep is not null
    )
    select pg_catalog.count(*) from stored
$$;

-- As in 0010.
drop function mbus4.subscribers_late(int[], text, bigint, timestamptz, text, timestamptz, timestamptz, {{.Hstore}}.hstore, {{.Hstore}}.hstore);
create function mbus4.subscribers_late(consumers bigint[], queue text, id bigint, added timestamptz, iid text, delayed_until timestamptz,
    expires timestamptz, properties {{.Hstore}}.hstore, data {{.Hstore}}.hstore)
returns bigint[]
language sql volatile
as $$
    select pg_catalog.array_cat($1, mbus4.selecting_consumers($2, false, m.t))
    from (
        select row($3, $4, $5, $6, $7, null,
                   {{.Hstore}}.hstore(array['source_db', pg_catalog.current_database()::text, 'destination_queue', $2,
                       'seenby', array[pg_catalog.current_database()::text]::text, 'enqueue_time', $4::text]),
                   $8, $9)::mbus4.qt_model as t
        offset 0
    ) m
    where case when exists (select from mbus4.consumer c where c.queue = $2 and c.target is not null)
               then mbus4.forward($2, m.t, $6, $7, null) end is distinct from -1
$$;

-- Fails: a call names a selector that has no row. call is the call's mark: its number in the client's text, and the session's
-- secret where there is one.
create function mbus4.no_selector(call text, selector text) returns bigint
language sql volatile
as $$
    select pg_catalog.format(
        case when pg_catalog.current_setting('transaction_isolation') in ('repeatable read', 'serializable')
             then 'mbus4-error %s 40001 could not serialize access: the selector %s became known after the transaction had taken its snapshot'
             else 'mbus4-error %s 0A000 the selector %s was not checked; give it as a literal or as a parameter of the statement' end, $1, $2)::int::bigint
$$;

-- As in 0012; a selector is looked up by its text, for two may have one id. A transaction that took its snapshot
-- before the selector's row was made does not see it.
create or replace function mbus4.new_temporary_consumer(qname text, selector text, call int) returns text
language sql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
    with source as materialized (
        select q.id, coalesce(q.name, format('mbus4-error %s 42704 queue %s does not exist', $3, coalesce('"' || $1 || '"', 'null'))::int::text) as name,
               s.id as selector_id, s.headers, s.properties, s.data,
               case when btrim($2, E' \t\r\n') <> '' and s.id is null then mbus4.no_selector($3::text, $2) end as unknown,
               -- Each is asked, and may get a copy, at each post.
               case when (select count(*) from (select from mbus4.consumer c where c.queue = q.name and c.target is not null limit 1000) t) = 1000
                    then format('mbus4-error %s 54000 queue "%s" has 1000 triggers and temporary consumers, and no room for more of these', $3, q.name)::int end as full_up
        from (select ('x' || left(md5(convert_to($2, 'UTF8')), 16))::bit(64)::bigint as id) h
        left join mbus4.selector s on s.id = h.id and s.text = $2 and s.refused is null
        left join mbus4.queue q on q.name = lower($1)
    ), made as materialized (
        select s.*, mbus4.new_temporary_queue() as target from source s where s.name is not null and s.unknown is null and s.full_up is null
    )
    insert into mbus4.consumer (queue_id, queue, name, selector, selector_id, target, asks_headers, asks_properties, asks_data)
    select m.id, m.name, 'TRIGGER ' || m.target, case when m.selector_id is not null then $2 end, m.selector_id, m.target,
           m.headers, m.properties, m.data
    from made m
    returning target
$$;

-- What evaluated selectors before. The functions of single selectors go with this step, too.
drop function mbus4.selects(bigint, mbus4.qt_model);
drop function mbus4.selects_late(bigint, mbus4.qt_model);
