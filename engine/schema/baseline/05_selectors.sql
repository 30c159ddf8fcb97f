-- Selectors, evaluated.

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
    select c.qname, c.name, c.selector, e.errors,
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
               ' %L::{{.Bound}}.hstore as headers, %L::{{.Bound}}.hstore as properties, %L::{{.Bound}}.hstore as data offset 0) t',
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
            where s.id = any(array(select c.selector_id from mbus4.consumer c where c.qname = $1 and c.general and (c.target is not null) = $2))
        ) x
        cross join lateral pg_catalog.ts_stat(
            'select pg_catalog.array_to_tsvector(pg_catalog.array_remove(array[' || x.conditions || ']::pg_catalog.text[], null)) from '
            || mbus4.row_text($3, x.conditions)) w
    )
    select pg_catalog.array_agg(c.id::bigint)
    from word w
    join mbus4.consumer c on c.qname = $1 and c.general and c.selector_id = w.selector_id and (c.target is not null) = $2
    where case when w.said = 'y' then true else mbus4.count_selector_error(c.id, ($3).id) < 0 end
$$;

-- The consumers of a queue, or its triggers, that have selectors which the message meets.
create function mbus4.selecting_consumers(queue text, triggers boolean, t mbus4.qt_model) returns bigint[]
language sql volatile
as $$
    select pg_catalog.array_cat(
        (select pg_catalog.array_agg(c.id::bigint)
         from mbus4.consumer c
         where c.qname = $1 and c.selector_id is not null and not c.general and (c.target is not null) = $2
           and (c.asks_headers is null or ($3).headers operator({{.Bound}}.@>) c.asks_headers)
           and (c.asks_properties is null or ($3).properties operator({{.Bound}}.@>) c.asks_properties)
           and (c.asks_data is null or ($3).data operator({{.Bound}}.@>) c.asks_data)),
        case when exists (select from mbus4.consumer c where c.qname = $1 and c.general and (c.target is not null) = $2)
             then mbus4.general_consumers($1, $2, $3) end)
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
