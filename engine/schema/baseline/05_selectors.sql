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
    select greatest(nextval(format('mbus4.selector_errors_%s', s.slot)::pg_catalog.regclass), setval(format('mbus4.selector_message_%s', s.slot)::pg_catalog.regclass, $2))
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
           case when e.errors > 0 then pg_sequence_last_value(format('mbus4.selector_message_%s', s.slot)::pg_catalog.regclass) end
    from mbus4.consumer c
    left join mbus4.selector_slot s on s.consumer_id = c.id
    cross join lateral (
        select case when s.slot is not null then coalesce(pg_sequence_last_value(format('mbus4.selector_errors_%s', s.slot)::pg_catalog.regclass), 0) - s.base end as errors
        offset 0
    ) e
    where c.selector_id is not null
$$;
revoke all on function mbus4.selector_error_counts() from public;

-- errors is null where none can happen, and where they are not counted: yet, or because there are too many consumers.
create view mbus4.selector_errors as select e.queue, e.consumer, e.selector, e.errors, e.last_message_id from mbus4.selector_error_counts() e;

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
