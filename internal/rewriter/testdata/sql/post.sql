# The plainest.
select mbus4.post('orders', 'id=>1')
----
with mbus4_call1_args(n, "qname", "data", "headers", "properties", "delayed_until", "expires", "iid") as (
    select 1::bigint, ('orders')::pg_catalog.text,
        (row('id=>1')::mbus4_hstore.given).value,
        null::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::timestamp without time zone,
        null::timestamp without time zone, null::pg_catalog.text
),
mbus4_call1_posted as materialized (
    select a.n,
        case
            when pg_catalog.pg_try_advisory_xact_lock_shared(
                1835169140, pg_catalog.hashtext(pg_catalog.lower(a.qname collate "C")) & 63
            )
                then pg_catalog.nextval('mbus4.post_id')
            when pg_catalog.nextval('mbus4.message_id') > 0 then pg_catalog.nextval('mbus4.post_id')
        end as id,
        pg_catalog.clock_timestamp() as added,
        pg_catalog.lower(a.qname collate "C") as queue,
        a.delayed_until::pg_catalog.timestamptz as delayed_until,
        a.expires::pg_catalog.timestamptz as expires,
        a.properties, a.data as data
    from mbus4_call1_args a
),
mbus4_call1_stored as (
    insert into mbus4.message (id, consumer_id, available_at, added, expires, properties, data)
    select p.id, consumer_id, p.added, p.added, p.expires, p.properties, p.data
    from mbus4_call1_posted p
    left join lateral (
        select c.id as consumer_id, case when c.selector_id is not null or c.target is not null then c end as rest
        from mbus4.consumer c
        where c.qname = p.queue
        offset 0
    ) c on true
    where coalesce(
        case
            when consumer_id is not null
                then rest is null
                or case
                    when (rest).target is null
                        and not (rest).general
                        then mbus4.has_asked(rest, p.queue, p.added, null, p.properties, p.data) is true
                    else mbus4.receives(
                        rest, p.queue, p.id, p.added, null, p.delayed_until, p.expires, null, p.properties, p.data, null, false,
                        null
                    )
                end
        end,
        mbus4.at_post_given_361e6977(
            '1 _session_secret_', p.queue, p.id, p.added, null, p.delayed_until, p.expires, null, p.properties, p.data, null,
            false
        ) is null
    )
),
mbus4_call1 as (
    select p.n,
        p.queue || '.' || pg_catalog.current_database()::pg_catalog.text || '.' || case
            when p.added < '2038-01-01Z'
                then (pg_catalog.date_part('epoch', p.added) * 1000000::pg_catalog.float8)::bigint::pg_catalog.text
            when p.added < '2200-01-01Z' then (extract(epoch from p.added) * 1000000::numeric)::bigint::pg_catalog.text
            else ''
        end || p.id::pg_catalog.text as post
    from mbus4_call1_posted p
)
select "post" as "post"
from mbus4_call1;
-- where there is in the database:
create or replace function mbus4.at_post_given_361e6977(
    call text, queue text, id bigint, added timestamptz, iid text, delayed_until timestamptz, expires timestamptz,
    headers mbus4_hstore.hstore, properties mbus4_hstore.hstore, data mbus4_hstore.hstore, consumers bigint[], waits boolean
) returns text language plpgsql volatile cost 1
set plan_cache_mode = force_generic_plan
set jit = off as $mbus4$ #variable_conflict use_column declare mbus4_dmq constant boolean := $2 is not distinct from 'dmq'; mbus4_headers mbus4_hstore.hstore := case when $8 operator(mbus4_hstore.->) 'seenby'::pg_catalog.text is null then $8 operator(mbus4_hstore.-) 'seenby'::pg_catalog.text when $2 = 'dmq' then $8 else $8 operator(mbus4_hstore.||) mbus4_hstore.hstore('seenby'::pg_catalog.text, pg_catalog.array_append(case when $8 operator(mbus4_hstore.->) 'seenby'::pg_catalog.text operator(pg_catalog.!~) '^[[:space:]]*[[{]' then pg_catalog.left(pg_catalog.format('mbus4-error '||$1||' 22P02 the header seenby is not an array: %s', $8 operator(mbus4_hstore.->) 'seenby'::pg_catalog.text), 2000)::int::pg_catalog.text::pg_catalog.text[] else ($8 operator(mbus4_hstore.->) 'seenby'::pg_catalog.text)::pg_catalog.text[] end, pg_catalog.current_database()::pg_catalog.text)::pg_catalog.text) end; mbus4_wanted constant pg_catalog.text[] := case when $8 operator(mbus4_hstore.->) 'consume_after'::pg_catalog.text operator(pg_catalog.!~) '^[[:space:]]*[[{]' then pg_catalog.left(pg_catalog.format('mbus4-error '||$1||' 22P02 the header consume_after is not an array: %s', $8 operator(mbus4_hstore.->) 'consume_after'::pg_catalog.text), 2000)::int::pg_catalog.text::pg_catalog.text[] else ($8 operator(mbus4_hstore.->) 'consume_after'::pg_catalog.text)::pg_catalog.text[] end; mbus4_redeployed constant boolean := ($8 operator(mbus4_hstore.->) 'Redeploy'::pg_catalog.text)::boolean; mbus4_at constant pg_catalog.timestamptz := case when $6 > $4 and not mbus4_dmq then $6 else $4 end; mbus4_after pg_catalog.text[]; mbus4_iid pg_catalog.text := $5; mbus4_parked boolean := false; mbus4_ids bigint[] := $11; mbus4_stored bigint[]; begin if pg_catalog.cardinality(mbus4_wanted) > 0 and not mbus4_dmq then mbus4_after := mbus4_wanted; mbus4_parked := $12 or mbus4.awaits_delivery(mbus4_after); end if; if mbus4_iid is null and (mbus4_at >= '2200-01-01Z' or pg_catalog.cardinality(mbus4_wanted) > 0) then mbus4_iid := $2 || '.' || pg_catalog.current_database()::pg_catalog.text || '.' || $3::pg_catalog.text; end if; if mbus4_ids is null then select pg_catalog.array_agg(c.id) into mbus4_ids from mbus4.consumer c where c.qname = $2 and case when c.target is null and c.selector_id is null then true when c.target is null or mbus4_redeployed is not true then mbus4.receives(c, $2, $3, $4, mbus4_iid, $6, $7, mbus4_headers, $9, $10, mbus4_after, mbus4_parked, null) end; if mbus4_ids is null then perform case when exists (select from mbus4.consumer c where c.qname = $2 and c.target is null) or exists (select from mbus4.queue q where q.qname = $2) or ($2 operator(pg_catalog.~) '^temp[.][0-9a-f]{32}[.][0-9]+$' and mbus4.is_gone($2, ''||$1||'')) then 0 else pg_catalog.left(pg_catalog.format('mbus4-error '||$1||' 42704 queue %s does not exist', coalesce('"' || $2 || '"', 'null')), 2000)::int end; end if; end if; if pg_catalog.cardinality(mbus4_ids) > 0 then if $5 is null then insert into mbus4.message (id, consumer_id, available_at, added, iid, delayed_until, expires, headers, properties, data, after) select $3, s.consumer_id, case when mbus4_parked then 'infinity' else mbus4_at end, $4, mbus4_iid, $6, $7, mbus4_headers, $9, $10, mbus4_after from pg_catalog.unnest(mbus4_ids) s (consumer_id); mbus4_stored := mbus4_ids; else delete from mbus4.message m where m.iid = $5 and m.consumer_id + 0 = any(mbus4_ids) and m.expires <= $4 and m.consumer_id <> 1 and not (m.available_at > pg_catalog.clock_timestamp() and m.available_at < 'infinity' and mbus4.is_leased(m.available_at, m.delayed_until, m.headers)); with stored as ( insert into mbus4.message (id, consumer_id, available_at, added, iid, delayed_until, expires, headers, properties, data, after) select $3, s.consumer_id, case when mbus4_parked then 'infinity' else mbus4_at end, $4, mbus4_iid, $6, $7, mbus4_headers, $9, $10, mbus4_after from pg_catalog.unnest(mbus4_ids) s (consumer_id) where ( select 1 from mbus4.places_of_iid($5) i join mbus4.message o on o.consumer_id = s.consumer_id and o.available_at = i.available_at and o.id = i.id where i.queue = $2 and o.iid is null for key share of o) is null on conflict (iid, consumer_id) where iid is not null do nothing returning consumer_id ) select pg_catalog.array_agg(s.consumer_id) into mbus4_stored from stored s; if mbus4_stored is null then perform pg_catalog.left(pg_catalog.format('mbus4-error '||$1||' 23505 a message with iid "%s" is still waiting in queue "%s"', mbus4_iid, $2), 2000)::int; end if; end if; if mbus4_parked then insert into mbus4.waiting (dep, consumer_id, id) select d.dep, s.consumer_id, $3 from pg_catalog.unnest(mbus4_after) d (dep) cross join pg_catalog.unnest(mbus4_stored) s (consumer_id) where d.dep is not null on conflict do nothing; end if; end if; return coalesce(mbus4_iid, $2 || '.' || pg_catalog.current_database()::pg_catalog.text || '.' || case when mbus4_at < '2038-01-01Z' then (pg_catalog.date_part('epoch', mbus4_at) * 1000000::pg_catalog.float8)::bigint::pg_catalog.text when mbus4_at < '2200-01-01Z' then (extract(epoch from mbus4_at) * 1000000::numeric)::bigint::pg_catalog.text else '' end || $3::pg_catalog.text); end $mbus4$

# With all that can be given, in a database where messages wait for others and consumers have selectors.
select mbus4.post($1, $2, $3, $4, $5, $6, $7)
----
with mbus4_call1_args(n, "qname", "data", "headers", "properties", "delayed_until", "expires", "iid") as (
    select 1::bigint, ($1)::pg_catalog.text, (row($2)::mbus4_hstore.given).value, (row($3)::mbus4_hstore.given).value,
        (row($4)::mbus4_hstore.given).value, ($5)::timestamp without time zone, ($6)::timestamp without time zone,
        ($7)::pg_catalog.text
),
mbus4_call1_posted as materialized (
    select w.*,
        case when w.delayed_until > w.added and w.queue <> 'dmq' then w.delayed_until else w.added end as at,
        case
            when (w.headers is null or not w.headers operator(mbus4_hstore.?|) array['seenby', 'consume_after', 'Redeploy'])
                and (
                    w.given is null
                        or (
                            pg_catalog.strpos(w.given, '.' || pg_catalog.current_database()::pg_catalog.text || '.') = 0
                                or w.given operator(pg_catalog.!~) '[.][1-9][0-9]{16,}$'
                        )
                        and not exists (select from mbus4.message m where m.iid = w.given)
                )
                then null
            else mbus4.at_post_given_361e6977(
                '1 _session_secret_', w.queue, w.id, w.added, w.given, w.delayed_until, w.expires, w.headers, w.properties,
                w.data, null, false
            )
        end as done
    from (
        select a.n,
            case
                when pg_catalog.pg_try_advisory_xact_lock_shared(
                    1835169140, pg_catalog.hashtext(pg_catalog.lower(a.qname collate "C")) & 63
                )
                    then pg_catalog.nextval('mbus4.post_id')
                when pg_catalog.nextval('mbus4.message_id') > 0 then pg_catalog.nextval('mbus4.post_id')
            end as id,
            pg_catalog.clock_timestamp() as added,
            pg_catalog.lower(a.qname collate "C") as queue,
            a.iid as given, a.headers as headers,
            a.delayed_until::pg_catalog.timestamptz as delayed_until,
            a.expires::pg_catalog.timestamptz as expires,
            a.properties, a.data as data
        from mbus4_call1_args a
        offset 0
    ) w
    offset 0
),
mbus4_call1_stored as (
    insert into mbus4.message (id, consumer_id, available_at, added, iid, delayed_until, expires, headers, properties, data)
    select p.id, consumer_id, p.at, p.added,
        coalesce(
            p.given,
            case
                when case
                    when p.delayed_until > p.added and p.queue <> 'dmq' then p.delayed_until
                    else p.added
                end >= '2200-01-01Z'
                    then p.queue || '.' || pg_catalog.current_database()::pg_catalog.text || '.' || p.id::pg_catalog.text
            end
        ),
        p.delayed_until, p.expires, p.headers, p.properties, p.data
    from mbus4_call1_posted p
    left join lateral (
        select c.id as consumer_id, case when c.selector_id is not null or c.target is not null then c end as rest
        from mbus4.consumer c
        where c.qname = p.queue
        offset 0
    ) c on true
    where p.done is null
        and coalesce(
            case
                when consumer_id is not null
                    then rest is null
                    or case
                        when (rest).target is null
                            and not (rest).general
                            then mbus4.has_asked(rest, p.queue, p.added, p.headers, p.properties, p.data) is true
                        else mbus4.receives(
                            rest, p.queue, p.id, p.added, coalesce(p.given), p.delayed_until, p.expires, p.headers, p.properties,
                            p.data, null, false, null
                        )
                    end
            end,
            mbus4.at_post_given_361e6977(
                '1 _session_secret_', p.queue, p.id, p.added, null, p.delayed_until, p.expires, p.headers, p.properties, p.data,
                null, false
            ) is null
        )
),
mbus4_call1 as (
    select p.n,
        coalesce(
            p.done, p.given,
            p.queue || '.' || pg_catalog.current_database()::pg_catalog.text || '.' || case
                when p.at < '2038-01-01Z'
                    then (pg_catalog.date_part('epoch', p.at) * 1000000::pg_catalog.float8)::bigint::pg_catalog.text
                when p.at < '2200-01-01Z' then (extract(epoch from p.at) * 1000000::numeric)::bigint::pg_catalog.text
                else ''
            end || p.id::pg_catalog.text
        ) as post
    from mbus4_call1_posted p
)
select (select "post" as "post" from mbus4_call1);
-- where there is in the database:
create or replace function mbus4.at_post_given_361e6977(
    call text, queue text, id bigint, added timestamptz, iid text, delayed_until timestamptz, expires timestamptz,
    headers mbus4_hstore.hstore, properties mbus4_hstore.hstore, data mbus4_hstore.hstore, consumers bigint[], waits boolean
) returns text language plpgsql volatile cost 1
set plan_cache_mode = force_generic_plan
set jit = off as $mbus4$ #variable_conflict use_column declare mbus4_dmq constant boolean := $2 is not distinct from 'dmq'; mbus4_headers mbus4_hstore.hstore := case when $8 operator(mbus4_hstore.->) 'seenby'::pg_catalog.text is null then $8 operator(mbus4_hstore.-) 'seenby'::pg_catalog.text when $2 = 'dmq' then $8 else $8 operator(mbus4_hstore.||) mbus4_hstore.hstore('seenby'::pg_catalog.text, pg_catalog.array_append(case when $8 operator(mbus4_hstore.->) 'seenby'::pg_catalog.text operator(pg_catalog.!~) '^[[:space:]]*[[{]' then pg_catalog.left(pg_catalog.format('mbus4-error '||$1||' 22P02 the header seenby is not an array: %s', $8 operator(mbus4_hstore.->) 'seenby'::pg_catalog.text), 2000)::int::pg_catalog.text::pg_catalog.text[] else ($8 operator(mbus4_hstore.->) 'seenby'::pg_catalog.text)::pg_catalog.text[] end, pg_catalog.current_database()::pg_catalog.text)::pg_catalog.text) end; mbus4_wanted constant pg_catalog.text[] := case when $8 operator(mbus4_hstore.->) 'consume_after'::pg_catalog.text operator(pg_catalog.!~) '^[[:space:]]*[[{]' then pg_catalog.left(pg_catalog.format('mbus4-error '||$1||' 22P02 the header consume_after is not an array: %s', $8 operator(mbus4_hstore.->) 'consume_after'::pg_catalog.text), 2000)::int::pg_catalog.text::pg_catalog.text[] else ($8 operator(mbus4_hstore.->) 'consume_after'::pg_catalog.text)::pg_catalog.text[] end; mbus4_redeployed constant boolean := ($8 operator(mbus4_hstore.->) 'Redeploy'::pg_catalog.text)::boolean; mbus4_at constant pg_catalog.timestamptz := case when $6 > $4 and not mbus4_dmq then $6 else $4 end; mbus4_after pg_catalog.text[]; mbus4_iid pg_catalog.text := $5; mbus4_parked boolean := false; mbus4_ids bigint[] := $11; mbus4_stored bigint[]; begin if pg_catalog.cardinality(mbus4_wanted) > 0 and not mbus4_dmq then mbus4_after := mbus4_wanted; mbus4_parked := $12 or mbus4.awaits_delivery(mbus4_after); end if; if mbus4_iid is null and (mbus4_at >= '2200-01-01Z' or pg_catalog.cardinality(mbus4_wanted) > 0) then mbus4_iid := $2 || '.' || pg_catalog.current_database()::pg_catalog.text || '.' || $3::pg_catalog.text; end if; if mbus4_ids is null then select pg_catalog.array_agg(c.id) into mbus4_ids from mbus4.consumer c where c.qname = $2 and case when c.target is null and c.selector_id is null then true when c.target is null or mbus4_redeployed is not true then mbus4.receives(c, $2, $3, $4, mbus4_iid, $6, $7, mbus4_headers, $9, $10, mbus4_after, mbus4_parked, null) end; if mbus4_ids is null then perform case when exists (select from mbus4.consumer c where c.qname = $2 and c.target is null) or exists (select from mbus4.queue q where q.qname = $2) or ($2 operator(pg_catalog.~) '^temp[.][0-9a-f]{32}[.][0-9]+$' and mbus4.is_gone($2, ''||$1||'')) then 0 else pg_catalog.left(pg_catalog.format('mbus4-error '||$1||' 42704 queue %s does not exist', coalesce('"' || $2 || '"', 'null')), 2000)::int end; end if; end if; if pg_catalog.cardinality(mbus4_ids) > 0 then if $5 is null then insert into mbus4.message (id, consumer_id, available_at, added, iid, delayed_until, expires, headers, properties, data, after) select $3, s.consumer_id, case when mbus4_parked then 'infinity' else mbus4_at end, $4, mbus4_iid, $6, $7, mbus4_headers, $9, $10, mbus4_after from pg_catalog.unnest(mbus4_ids) s (consumer_id); mbus4_stored := mbus4_ids; else delete from mbus4.message m where m.iid = $5 and m.consumer_id + 0 = any(mbus4_ids) and m.expires <= $4 and m.consumer_id <> 1 and not (m.available_at > pg_catalog.clock_timestamp() and m.available_at < 'infinity' and mbus4.is_leased(m.available_at, m.delayed_until, m.headers)); with stored as ( insert into mbus4.message (id, consumer_id, available_at, added, iid, delayed_until, expires, headers, properties, data, after) select $3, s.consumer_id, case when mbus4_parked then 'infinity' else mbus4_at end, $4, mbus4_iid, $6, $7, mbus4_headers, $9, $10, mbus4_after from pg_catalog.unnest(mbus4_ids) s (consumer_id) where ( select 1 from mbus4.places_of_iid($5) i join mbus4.message o on o.consumer_id = s.consumer_id and o.available_at = i.available_at and o.id = i.id where i.queue = $2 and o.iid is null for key share of o) is null on conflict (iid, consumer_id) where iid is not null do nothing returning consumer_id ) select pg_catalog.array_agg(s.consumer_id) into mbus4_stored from stored s; if mbus4_stored is null then perform pg_catalog.left(pg_catalog.format('mbus4-error '||$1||' 23505 a message with iid "%s" is still waiting in queue "%s"', mbus4_iid, $2), 2000)::int; end if; end if; if mbus4_parked then insert into mbus4.waiting (dep, consumer_id, id) select d.dep, s.consumer_id, $3 from pg_catalog.unnest(mbus4_after) d (dep) cross join pg_catalog.unnest(mbus4_stored) s (consumer_id) where d.dep is not null on conflict do nothing; end if; end if; return coalesce(mbus4_iid, $2 || '.' || pg_catalog.current_database()::pg_catalog.text || '.' || case when mbus4_at < '2038-01-01Z' then (pg_catalog.date_part('epoch', mbus4_at) * 1000000::pg_catalog.float8)::bigint::pg_catalog.text when mbus4_at < '2200-01-01Z' then (extract(epoch from mbus4_at) * 1000000::numeric)::bigint::pg_catalog.text else '' end || $3::pg_catalog.text); end $mbus4$

# In a database with selectors: to consumers that have some, and to those of a trigger.
select mbus4.post('orders', 'id=>1')
----
with mbus4_call1_args(n, "qname", "data", "headers", "properties", "delayed_until", "expires", "iid") as (
    select 1::bigint, ('orders')::pg_catalog.text,
        (row('id=>1')::mbus4_hstore.given).value,
        null::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::timestamp without time zone,
        null::timestamp without time zone, null::pg_catalog.text
),
mbus4_call1_posted as materialized (
    select a.n,
        case
            when pg_catalog.pg_try_advisory_xact_lock_shared(
                1835169140, pg_catalog.hashtext(pg_catalog.lower(a.qname collate "C")) & 63
            )
                then pg_catalog.nextval('mbus4.post_id')
            when pg_catalog.nextval('mbus4.message_id') > 0 then pg_catalog.nextval('mbus4.post_id')
        end as id,
        pg_catalog.clock_timestamp() as added,
        pg_catalog.lower(a.qname collate "C") as queue,
        a.delayed_until::pg_catalog.timestamptz as delayed_until,
        a.expires::pg_catalog.timestamptz as expires,
        a.properties, a.data as data
    from mbus4_call1_args a
),
mbus4_call1_stored as (
    insert into mbus4.message (id, consumer_id, available_at, added, expires, properties, data)
    select p.id, consumer_id, p.added, p.added, p.expires, p.properties, p.data
    from mbus4_call1_posted p
    left join lateral (
        select c.id as consumer_id, case when c.selector_id is not null or c.target is not null then c end as rest
        from mbus4.consumer c
        where c.qname = p.queue
        offset 0
    ) c on true
    where coalesce(
        case
            when consumer_id is not null
                then rest is null
                or case
                    when (rest).target is null
                        and not (rest).general
                        then mbus4.has_asked(rest, p.queue, p.added, null, p.properties, p.data) is true
                    else mbus4.receives(
                        rest, p.queue, p.id, p.added, null, p.delayed_until, p.expires, null, p.properties, p.data, null, false,
                        null
                    )
                end
        end,
        mbus4.at_post_given_361e6977(
            '1 _session_secret_', p.queue, p.id, p.added, null, p.delayed_until, p.expires, null, p.properties, p.data, null,
            false
        ) is null
    )
),
mbus4_call1 as (
    select p.n,
        p.queue || '.' || pg_catalog.current_database()::pg_catalog.text || '.' || case
            when p.added < '2038-01-01Z'
                then (pg_catalog.date_part('epoch', p.added) * 1000000::pg_catalog.float8)::bigint::pg_catalog.text
            when p.added < '2200-01-01Z' then (extract(epoch from p.added) * 1000000::numeric)::bigint::pg_catalog.text
            else ''
        end || p.id::pg_catalog.text as post
    from mbus4_call1_posted p
)
select "post" as "post"
from mbus4_call1;
-- where there is in the database:
create or replace function mbus4.at_post_given_361e6977(
    call text, queue text, id bigint, added timestamptz, iid text, delayed_until timestamptz, expires timestamptz,
    headers mbus4_hstore.hstore, properties mbus4_hstore.hstore, data mbus4_hstore.hstore, consumers bigint[], waits boolean
) returns text language plpgsql volatile cost 1
set plan_cache_mode = force_generic_plan
set jit = off as $mbus4$ #variable_conflict use_column declare mbus4_dmq constant boolean := $2 is not distinct from 'dmq'; mbus4_headers mbus4_hstore.hstore := case when $8 operator(mbus4_hstore.->) 'seenby'::pg_catalog.text is null then $8 operator(mbus4_hstore.-) 'seenby'::pg_catalog.text when $2 = 'dmq' then $8 else $8 operator(mbus4_hstore.||) mbus4_hstore.hstore('seenby'::pg_catalog.text, pg_catalog.array_append(case when $8 operator(mbus4_hstore.->) 'seenby'::pg_catalog.text operator(pg_catalog.!~) '^[[:space:]]*[[{]' then pg_catalog.left(pg_catalog.format('mbus4-error '||$1||' 22P02 the header seenby is not an array: %s', $8 operator(mbus4_hstore.->) 'seenby'::pg_catalog.text), 2000)::int::pg_catalog.text::pg_catalog.text[] else ($8 operator(mbus4_hstore.->) 'seenby'::pg_catalog.text)::pg_catalog.text[] end, pg_catalog.current_database()::pg_catalog.text)::pg_catalog.text) end; mbus4_wanted constant pg_catalog.text[] := case when $8 operator(mbus4_hstore.->) 'consume_after'::pg_catalog.text operator(pg_catalog.!~) '^[[:space:]]*[[{]' then pg_catalog.left(pg_catalog.format('mbus4-error '||$1||' 22P02 the header consume_after is not an array: %s', $8 operator(mbus4_hstore.->) 'consume_after'::pg_catalog.text), 2000)::int::pg_catalog.text::pg_catalog.text[] else ($8 operator(mbus4_hstore.->) 'consume_after'::pg_catalog.text)::pg_catalog.text[] end; mbus4_redeployed constant boolean := ($8 operator(mbus4_hstore.->) 'Redeploy'::pg_catalog.text)::boolean; mbus4_at constant pg_catalog.timestamptz := case when $6 > $4 and not mbus4_dmq then $6 else $4 end; mbus4_after pg_catalog.text[]; mbus4_iid pg_catalog.text := $5; mbus4_parked boolean := false; mbus4_ids bigint[] := $11; mbus4_stored bigint[]; begin if pg_catalog.cardinality(mbus4_wanted) > 0 and not mbus4_dmq then mbus4_after := mbus4_wanted; mbus4_parked := $12 or mbus4.awaits_delivery(mbus4_after); end if; if mbus4_iid is null and (mbus4_at >= '2200-01-01Z' or pg_catalog.cardinality(mbus4_wanted) > 0) then mbus4_iid := $2 || '.' || pg_catalog.current_database()::pg_catalog.text || '.' || $3::pg_catalog.text; end if; if mbus4_ids is null then select pg_catalog.array_agg(c.id) into mbus4_ids from mbus4.consumer c where c.qname = $2 and case when c.target is null and c.selector_id is null then true when c.target is null or mbus4_redeployed is not true then mbus4.receives(c, $2, $3, $4, mbus4_iid, $6, $7, mbus4_headers, $9, $10, mbus4_after, mbus4_parked, null) end; if mbus4_ids is null then perform case when exists (select from mbus4.consumer c where c.qname = $2 and c.target is null) or exists (select from mbus4.queue q where q.qname = $2) or ($2 operator(pg_catalog.~) '^temp[.][0-9a-f]{32}[.][0-9]+$' and mbus4.is_gone($2, ''||$1||'')) then 0 else pg_catalog.left(pg_catalog.format('mbus4-error '||$1||' 42704 queue %s does not exist', coalesce('"' || $2 || '"', 'null')), 2000)::int end; end if; end if; if pg_catalog.cardinality(mbus4_ids) > 0 then if $5 is null then insert into mbus4.message (id, consumer_id, available_at, added, iid, delayed_until, expires, headers, properties, data, after) select $3, s.consumer_id, case when mbus4_parked then 'infinity' else mbus4_at end, $4, mbus4_iid, $6, $7, mbus4_headers, $9, $10, mbus4_after from pg_catalog.unnest(mbus4_ids) s (consumer_id); mbus4_stored := mbus4_ids; else delete from mbus4.message m where m.iid = $5 and m.consumer_id + 0 = any(mbus4_ids) and m.expires <= $4 and m.consumer_id <> 1 and not (m.available_at > pg_catalog.clock_timestamp() and m.available_at < 'infinity' and mbus4.is_leased(m.available_at, m.delayed_until, m.headers)); with stored as ( insert into mbus4.message (id, consumer_id, available_at, added, iid, delayed_until, expires, headers, properties, data, after) select $3, s.consumer_id, case when mbus4_parked then 'infinity' else mbus4_at end, $4, mbus4_iid, $6, $7, mbus4_headers, $9, $10, mbus4_after from pg_catalog.unnest(mbus4_ids) s (consumer_id) where ( select 1 from mbus4.places_of_iid($5) i join mbus4.message o on o.consumer_id = s.consumer_id and o.available_at = i.available_at and o.id = i.id where i.queue = $2 and o.iid is null for key share of o) is null on conflict (iid, consumer_id) where iid is not null do nothing returning consumer_id ) select pg_catalog.array_agg(s.consumer_id) into mbus4_stored from stored s; if mbus4_stored is null then perform pg_catalog.left(pg_catalog.format('mbus4-error '||$1||' 23505 a message with iid "%s" is still waiting in queue "%s"', mbus4_iid, $2), 2000)::int; end if; end if; if mbus4_parked then insert into mbus4.waiting (dep, consumer_id, id) select d.dep, s.consumer_id, $3 from pg_catalog.unnest(mbus4_after) d (dep) cross join pg_catalog.unnest(mbus4_stored) s (consumer_id) where d.dep is not null on conflict do nothing; end if; end if; return coalesce(mbus4_iid, $2 || '.' || pg_catalog.current_database()::pg_catalog.text || '.' || case when mbus4_at < '2038-01-01Z' then (pg_catalog.date_part('epoch', mbus4_at) * 1000000::pg_catalog.float8)::bigint::pg_catalog.text when mbus4_at < '2200-01-01Z' then (extract(epoch from mbus4_at) * 1000000::numeric)::bigint::pg_catalog.text else '' end || $3::pg_catalog.text); end $mbus4$

# For each row of a set: all to one queue,
insert into log (iid) select mbus4.post('orders', hstore(o)) from orders o
----
with mbus4_rows1 as (select 1::bigint as n, s.* from (select null, (hstore(o))::mbus4_hstore.hstore from orders o) as s(h1, h2)),
mbus4_call1_args(n, "qname", "data", "headers", "properties", "delayed_until", "expires", "iid") as (
    select mbus4_rows1.n, ('orders')::pg_catalog.text, mbus4_rows1.h2, null::mbus4_hstore.hstore, null::mbus4_hstore.hstore,
        null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text
    from mbus4_rows1
),
mbus4_call1_posted as materialized (
    select a.n,
        case
            when (
                select pg_catalog.pg_try_advisory_xact_lock_shared(
                    1835169140, pg_catalog.hashtext(pg_catalog.lower((('orders')::pg_catalog.text) collate "C")) & 63
                )
            )
                then pg_catalog.nextval('mbus4.post_id')
            when pg_catalog.nextval('mbus4.message_id') > 0 then pg_catalog.nextval('mbus4.post_id')
        end as id,
        pg_catalog.clock_timestamp() as added,
        pg_catalog.lower(a.qname collate "C") as queue,
        a.delayed_until::pg_catalog.timestamptz as delayed_until,
        a.expires::pg_catalog.timestamptz as expires,
        a.properties, a.data as data
    from mbus4_call1_args a
),
mbus4_call1_stored as (
    insert into mbus4.message (id, consumer_id, available_at, added, expires, properties, data)
    select p.id, consumer_id, p.added, p.added, p.expires, p.properties, p.data
    from mbus4_call1_posted p
    left join (
        select c.id as consumer_id, case when c.selector_id is not null or c.target is not null then c end as rest
        from mbus4.consumer c
        where c.qname = pg_catalog.lower(('orders')::pg_catalog.text collate "C")
        offset 0
    ) c on true
    where coalesce(
        case
            when consumer_id is not null
                then rest is null
                or case
                    when (rest).target is null
                        and not (rest).general
                        then mbus4.has_asked(rest, p.queue, p.added, null, p.properties, p.data) is true
                    else mbus4.receives(
                        rest, p.queue, p.id, p.added, null, p.delayed_until, p.expires, null, p.properties, p.data, null, false,
                        null
                    )
                end
        end,
        mbus4.at_post_given_361e6977(
            '1 _session_secret_', p.queue, p.id, p.added, null, p.delayed_until, p.expires, null, p.properties, p.data, null,
            false
        ) is null
    )
),
mbus4_call1 as (
    select p.n,
        p.queue || '.' || pg_catalog.current_database()::pg_catalog.text || '.' || case
            when p.added < '2038-01-01Z'
                then (pg_catalog.date_part('epoch', p.added) * 1000000::pg_catalog.float8)::bigint::pg_catalog.text
            when p.added < '2200-01-01Z' then (extract(epoch from p.added) * 1000000::numeric)::bigint::pg_catalog.text
            else ''
        end || p.id::pg_catalog.text as post
    from mbus4_call1_posted p
)
insert into log (iid)
select mbus4_call1."post" as "post"
from mbus4_call1;
-- where there is in the database:
create or replace function mbus4.at_post_given_361e6977(
    call text, queue text, id bigint, added timestamptz, iid text, delayed_until timestamptz, expires timestamptz,
    headers mbus4_hstore.hstore, properties mbus4_hstore.hstore, data mbus4_hstore.hstore, consumers bigint[], waits boolean
) returns text language plpgsql volatile cost 1
set plan_cache_mode = force_generic_plan
set jit = off as $mbus4$ #variable_conflict use_column declare mbus4_dmq constant boolean := $2 is not distinct from 'dmq'; mbus4_headers mbus4_hstore.hstore := case when $8 operator(mbus4_hstore.->) 'seenby'::pg_catalog.text is null then $8 operator(mbus4_hstore.-) 'seenby'::pg_catalog.text when $2 = 'dmq' then $8 else $8 operator(mbus4_hstore.||) mbus4_hstore.hstore('seenby'::pg_catalog.text, pg_catalog.array_append(case when $8 operator(mbus4_hstore.->) 'seenby'::pg_catalog.text operator(pg_catalog.!~) '^[[:space:]]*[[{]' then pg_catalog.left(pg_catalog.format('mbus4-error '||$1||' 22P02 the header seenby is not an array: %s', $8 operator(mbus4_hstore.->) 'seenby'::pg_catalog.text), 2000)::int::pg_catalog.text::pg_catalog.text[] else ($8 operator(mbus4_hstore.->) 'seenby'::pg_catalog.text)::pg_catalog.text[] end, pg_catalog.current_database()::pg_catalog.text)::pg_catalog.text) end; mbus4_wanted constant pg_catalog.text[] := case when $8 operator(mbus4_hstore.->) 'consume_after'::pg_catalog.text operator(pg_catalog.!~) '^[[:space:]]*[[{]' then pg_catalog.left(pg_catalog.format('mbus4-error '||$1||' 22P02 the header consume_after is not an array: %s', $8 operator(mbus4_hstore.->) 'consume_after'::pg_catalog.text), 2000)::int::pg_catalog.text::pg_catalog.text[] else ($8 operator(mbus4_hstore.->) 'consume_after'::pg_catalog.text)::pg_catalog.text[] end; mbus4_redeployed constant boolean := ($8 operator(mbus4_hstore.->) 'Redeploy'::pg_catalog.text)::boolean; mbus4_at constant pg_catalog.timestamptz := case when $6 > $4 and not mbus4_dmq then $6 else $4 end; mbus4_after pg_catalog.text[]; mbus4_iid pg_catalog.text := $5; mbus4_parked boolean := false; mbus4_ids bigint[] := $11; mbus4_stored bigint[]; begin if pg_catalog.cardinality(mbus4_wanted) > 0 and not mbus4_dmq then mbus4_after := mbus4_wanted; mbus4_parked := $12 or mbus4.awaits_delivery(mbus4_after); end if; if mbus4_iid is null and (mbus4_at >= '2200-01-01Z' or pg_catalog.cardinality(mbus4_wanted) > 0) then mbus4_iid := $2 || '.' || pg_catalog.current_database()::pg_catalog.text || '.' || $3::pg_catalog.text; end if; if mbus4_ids is null then select pg_catalog.array_agg(c.id) into mbus4_ids from mbus4.consumer c where c.qname = $2 and case when c.target is null and c.selector_id is null then true when c.target is null or mbus4_redeployed is not true then mbus4.receives(c, $2, $3, $4, mbus4_iid, $6, $7, mbus4_headers, $9, $10, mbus4_after, mbus4_parked, null) end; if mbus4_ids is null then perform case when exists (select from mbus4.consumer c where c.qname = $2 and c.target is null) or exists (select from mbus4.queue q where q.qname = $2) or ($2 operator(pg_catalog.~) '^temp[.][0-9a-f]{32}[.][0-9]+$' and mbus4.is_gone($2, ''||$1||'')) then 0 else pg_catalog.left(pg_catalog.format('mbus4-error '||$1||' 42704 queue %s does not exist', coalesce('"' || $2 || '"', 'null')), 2000)::int end; end if; end if; if pg_catalog.cardinality(mbus4_ids) > 0 then if $5 is null then insert into mbus4.message (id, consumer_id, available_at, added, iid, delayed_until, expires, headers, properties, data, after) select $3, s.consumer_id, case when mbus4_parked then 'infinity' else mbus4_at end, $4, mbus4_iid, $6, $7, mbus4_headers, $9, $10, mbus4_after from pg_catalog.unnest(mbus4_ids) s (consumer_id); mbus4_stored := mbus4_ids; else delete from mbus4.message m where m.iid = $5 and m.consumer_id + 0 = any(mbus4_ids) and m.expires <= $4 and m.consumer_id <> 1 and not (m.available_at > pg_catalog.clock_timestamp() and m.available_at < 'infinity' and mbus4.is_leased(m.available_at, m.delayed_until, m.headers)); with stored as ( insert into mbus4.message (id, consumer_id, available_at, added, iid, delayed_until, expires, headers, properties, data, after) select $3, s.consumer_id, case when mbus4_parked then 'infinity' else mbus4_at end, $4, mbus4_iid, $6, $7, mbus4_headers, $9, $10, mbus4_after from pg_catalog.unnest(mbus4_ids) s (consumer_id) where ( select 1 from mbus4.places_of_iid($5) i join mbus4.message o on o.consumer_id = s.consumer_id and o.available_at = i.available_at and o.id = i.id where i.queue = $2 and o.iid is null for key share of o) is null on conflict (iid, consumer_id) where iid is not null do nothing returning consumer_id ) select pg_catalog.array_agg(s.consumer_id) into mbus4_stored from stored s; if mbus4_stored is null then perform pg_catalog.left(pg_catalog.format('mbus4-error '||$1||' 23505 a message with iid "%s" is still waiting in queue "%s"', mbus4_iid, $2), 2000)::int; end if; end if; if mbus4_parked then insert into mbus4.waiting (dep, consumer_id, id) select d.dep, s.consumer_id, $3 from pg_catalog.unnest(mbus4_after) d (dep) cross join pg_catalog.unnest(mbus4_stored) s (consumer_id) where d.dep is not null on conflict do nothing; end if; end if; return coalesce(mbus4_iid, $2 || '.' || pg_catalog.current_database()::pg_catalog.text || '.' || case when mbus4_at < '2038-01-01Z' then (pg_catalog.date_part('epoch', mbus4_at) * 1000000::pg_catalog.float8)::bigint::pg_catalog.text when mbus4_at < '2200-01-01Z' then (extract(epoch from mbus4_at) * 1000000::numeric)::bigint::pg_catalog.text else '' end || $3::pg_catalog.text); end $mbus4$

# or to many.
select o.id, mbus4.post(o.region, hstore(o)) from orders o order by o.id
----
with mbus4_rows1 as materialized (
    select pg_catalog.row_number() over () as n, s.*
    from (select o.id, null, (o.region)::pg_catalog.text, (hstore(o))::mbus4_hstore.hstore from orders o order by o.id) as s(
        h1, h2, h3, h4
    )
),
mbus4_call1_args(n, "qname", "data", "headers", "properties", "delayed_until", "expires", "iid") as (
    select mbus4_rows1.n, mbus4_rows1.h3, mbus4_rows1.h4, null::mbus4_hstore.hstore, null::mbus4_hstore.hstore,
        null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text
    from mbus4_rows1
),
mbus4_call1_posted as materialized (
    select a.n,
        case
            when pg_catalog.pg_try_advisory_xact_lock_shared(
                1835169140, pg_catalog.hashtext(pg_catalog.lower(a.qname collate "C")) & 63
            )
                then pg_catalog.nextval('mbus4.post_id')
            when pg_catalog.nextval('mbus4.message_id') > 0 then pg_catalog.nextval('mbus4.post_id')
        end as id,
        pg_catalog.clock_timestamp() as added,
        pg_catalog.lower(a.qname collate "C") as queue,
        a.delayed_until::pg_catalog.timestamptz as delayed_until,
        a.expires::pg_catalog.timestamptz as expires,
        a.properties, a.data as data
    from mbus4_call1_args a
),
mbus4_call1_stored as (
    insert into mbus4.message (id, consumer_id, available_at, added, expires, properties, data)
    select p.id, consumer_id, p.added, p.added, p.expires, p.properties, p.data
    from (
        select p.*, c.consumer_id, c.rest
        from mbus4_call1_posted p full
        join (
            select q.queue, c.consumer_id, c.rest
            from (select distinct p.queue from mbus4_call1_posted p) q
            cross join lateral (
                select c.id as consumer_id, case when c.selector_id is not null or c.target is not null then c end as rest
                from mbus4.consumer c
                where c.qname = q.queue
                offset 0
            ) c
        ) c on c.queue = p.queue
        order by p.id
        offset 0
    ) p
    where coalesce(
        case
            when consumer_id is not null
                then rest is null
                or case
                    when (rest).target is null
                        and not (rest).general
                        then mbus4.has_asked(rest, p.queue, p.added, null, p.properties, p.data) is true
                    else mbus4.receives(
                        rest, p.queue, p.id, p.added, null, p.delayed_until, p.expires, null, p.properties, p.data, null, false,
                        null
                    )
                end
        end,
        mbus4.at_post_given_361e6977(
            '1 _session_secret_', p.queue, p.id, p.added, null, p.delayed_until, p.expires, null, p.properties, p.data, null,
            false
        ) is null
    )
),
mbus4_call1 as (
    select p.n,
        p.queue || '.' || pg_catalog.current_database()::pg_catalog.text || '.' || case
            when p.added < '2038-01-01Z'
                then (pg_catalog.date_part('epoch', p.added) * 1000000::pg_catalog.float8)::bigint::pg_catalog.text
            when p.added < '2200-01-01Z' then (extract(epoch from p.added) * 1000000::numeric)::bigint::pg_catalog.text
            else ''
        end || p.id::pg_catalog.text as post
    from mbus4_call1_posted p
)
select mbus4_rows1.h1 as "id", mbus4_call1."post" as "post"
from mbus4_rows1
left join mbus4_call1 on mbus4_call1.n = mbus4_rows1.n
order by mbus4_rows1.n;
-- where there is in the database:
create or replace function mbus4.at_post_given_361e6977(
    call text, queue text, id bigint, added timestamptz, iid text, delayed_until timestamptz, expires timestamptz,
    headers mbus4_hstore.hstore, properties mbus4_hstore.hstore, data mbus4_hstore.hstore, consumers bigint[], waits boolean
) returns text language plpgsql volatile cost 1
set plan_cache_mode = force_generic_plan
set jit = off as $mbus4$ #variable_conflict use_column declare mbus4_dmq constant boolean := $2 is not distinct from 'dmq'; mbus4_headers mbus4_hstore.hstore := case when $8 operator(mbus4_hstore.->) 'seenby'::pg_catalog.text is null then $8 operator(mbus4_hstore.-) 'seenby'::pg_catalog.text when $2 = 'dmq' then $8 else $8 operator(mbus4_hstore.||) mbus4_hstore.hstore('seenby'::pg_catalog.text, pg_catalog.array_append(case when $8 operator(mbus4_hstore.->) 'seenby'::pg_catalog.text operator(pg_catalog.!~) '^[[:space:]]*[[{]' then pg_catalog.left(pg_catalog.format('mbus4-error '||$1||' 22P02 the header seenby is not an array: %s', $8 operator(mbus4_hstore.->) 'seenby'::pg_catalog.text), 2000)::int::pg_catalog.text::pg_catalog.text[] else ($8 operator(mbus4_hstore.->) 'seenby'::pg_catalog.text)::pg_catalog.text[] end, pg_catalog.current_database()::pg_catalog.text)::pg_catalog.text) end; mbus4_wanted constant pg_catalog.text[] := case when $8 operator(mbus4_hstore.->) 'consume_after'::pg_catalog.text operator(pg_catalog.!~) '^[[:space:]]*[[{]' then pg_catalog.left(pg_catalog.format('mbus4-error '||$1||' 22P02 the header consume_after is not an array: %s', $8 operator(mbus4_hstore.->) 'consume_after'::pg_catalog.text), 2000)::int::pg_catalog.text::pg_catalog.text[] else ($8 operator(mbus4_hstore.->) 'consume_after'::pg_catalog.text)::pg_catalog.text[] end; mbus4_redeployed constant boolean := ($8 operator(mbus4_hstore.->) 'Redeploy'::pg_catalog.text)::boolean; mbus4_at constant pg_catalog.timestamptz := case when $6 > $4 and not mbus4_dmq then $6 else $4 end; mbus4_after pg_catalog.text[]; mbus4_iid pg_catalog.text := $5; mbus4_parked boolean := false; mbus4_ids bigint[] := $11; mbus4_stored bigint[]; begin if pg_catalog.cardinality(mbus4_wanted) > 0 and not mbus4_dmq then mbus4_after := mbus4_wanted; mbus4_parked := $12 or mbus4.awaits_delivery(mbus4_after); end if; if mbus4_iid is null and (mbus4_at >= '2200-01-01Z' or pg_catalog.cardinality(mbus4_wanted) > 0) then mbus4_iid := $2 || '.' || pg_catalog.current_database()::pg_catalog.text || '.' || $3::pg_catalog.text; end if; if mbus4_ids is null then select pg_catalog.array_agg(c.id) into mbus4_ids from mbus4.consumer c where c.qname = $2 and case when c.target is null and c.selector_id is null then true when c.target is null or mbus4_redeployed is not true then mbus4.receives(c, $2, $3, $4, mbus4_iid, $6, $7, mbus4_headers, $9, $10, mbus4_after, mbus4_parked, null) end; if mbus4_ids is null then perform case when exists (select from mbus4.consumer c where c.qname = $2 and c.target is null) or exists (select from mbus4.queue q where q.qname = $2) or ($2 operator(pg_catalog.~) '^temp[.][0-9a-f]{32}[.][0-9]+$' and mbus4.is_gone($2, ''||$1||'')) then 0 else pg_catalog.left(pg_catalog.format('mbus4-error '||$1||' 42704 queue %s does not exist', coalesce('"' || $2 || '"', 'null')), 2000)::int end; end if; end if; if pg_catalog.cardinality(mbus4_ids) > 0 then if $5 is null then insert into mbus4.message (id, consumer_id, available_at, added, iid, delayed_until, expires, headers, properties, data, after) select $3, s.consumer_id, case when mbus4_parked then 'infinity' else mbus4_at end, $4, mbus4_iid, $6, $7, mbus4_headers, $9, $10, mbus4_after from pg_catalog.unnest(mbus4_ids) s (consumer_id); mbus4_stored := mbus4_ids; else delete from mbus4.message m where m.iid = $5 and m.consumer_id + 0 = any(mbus4_ids) and m.expires <= $4 and m.consumer_id <> 1 and not (m.available_at > pg_catalog.clock_timestamp() and m.available_at < 'infinity' and mbus4.is_leased(m.available_at, m.delayed_until, m.headers)); with stored as ( insert into mbus4.message (id, consumer_id, available_at, added, iid, delayed_until, expires, headers, properties, data, after) select $3, s.consumer_id, case when mbus4_parked then 'infinity' else mbus4_at end, $4, mbus4_iid, $6, $7, mbus4_headers, $9, $10, mbus4_after from pg_catalog.unnest(mbus4_ids) s (consumer_id) where ( select 1 from mbus4.places_of_iid($5) i join mbus4.message o on o.consumer_id = s.consumer_id and o.available_at = i.available_at and o.id = i.id where i.queue = $2 and o.iid is null for key share of o) is null on conflict (iid, consumer_id) where iid is not null do nothing returning consumer_id ) select pg_catalog.array_agg(s.consumer_id) into mbus4_stored from stored s; if mbus4_stored is null then perform pg_catalog.left(pg_catalog.format('mbus4-error '||$1||' 23505 a message with iid "%s" is still waiting in queue "%s"', mbus4_iid, $2), 2000)::int; end if; end if; if mbus4_parked then insert into mbus4.waiting (dep, consumer_id, id) select d.dep, s.consumer_id, $3 from pg_catalog.unnest(mbus4_after) d (dep) cross join pg_catalog.unnest(mbus4_stored) s (consumer_id) where d.dep is not null on conflict do nothing; end if; end if; return coalesce(mbus4_iid, $2 || '.' || pg_catalog.current_database()::pg_catalog.text || '.' || case when mbus4_at < '2038-01-01Z' then (pg_catalog.date_part('epoch', mbus4_at) * 1000000::pg_catalog.float8)::bigint::pg_catalog.text when mbus4_at < '2200-01-01Z' then (extract(epoch from mbus4_at) * 1000000::numeric)::bigint::pg_catalog.text else '' end || $3::pg_catalog.text); end $mbus4$

# Two calls in one statement.
select mbus4.post_orders('id=>1'), mbus4.post_audit('id=>1', properties => 'by=>me')
----
with mbus4_call1_args(n, "qname", "data", "headers", "properties", "delayed_until", "expires", "iid") as (
    select 1::bigint, ('orders')::pg_catalog.text,
        (row('id=>1')::mbus4_hstore.given).value,
        null::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::timestamp without time zone,
        null::timestamp without time zone, null::pg_catalog.text
),
mbus4_call1_posted as materialized (
    select a.n,
        case
            when pg_catalog.pg_try_advisory_xact_lock_shared(
                1835169140, pg_catalog.hashtext(pg_catalog.lower(a.qname collate "C")) & 63
            )
                then pg_catalog.nextval('mbus4.post_id')
            when pg_catalog.nextval('mbus4.message_id') > 0 then pg_catalog.nextval('mbus4.post_id')
        end as id,
        pg_catalog.clock_timestamp() as added,
        pg_catalog.lower(a.qname collate "C") as queue,
        a.delayed_until::pg_catalog.timestamptz as delayed_until,
        a.expires::pg_catalog.timestamptz as expires,
        a.properties, a.data as data
    from mbus4_call1_args a
),
mbus4_call1_stored as (
    insert into mbus4.message (id, consumer_id, available_at, added, expires, properties, data)
    select p.id, consumer_id, p.added, p.added, p.expires, p.properties, p.data
    from mbus4_call1_posted p
    left join lateral (
        select c.id as consumer_id, case when c.selector_id is not null or c.target is not null then c end as rest
        from mbus4.consumer c
        where c.qname = p.queue
        offset 0
    ) c on true
    where coalesce(
        case
            when consumer_id is not null
                then rest is null
                or case
                    when (rest).target is null
                        and not (rest).general
                        then mbus4.has_asked(rest, p.queue, p.added, null, p.properties, p.data) is true
                    else mbus4.receives(
                        rest, p.queue, p.id, p.added, null, p.delayed_until, p.expires, null, p.properties, p.data, null, false,
                        null
                    )
                end
        end,
        mbus4.at_post_given_361e6977(
            '1 _session_secret_', p.queue, p.id, p.added, null, p.delayed_until, p.expires, null, p.properties, p.data, null,
            false
        ) is null
    )
),
mbus4_call1 as (
    select p.n,
        p.queue || '.' || pg_catalog.current_database()::pg_catalog.text || '.' || case
            when p.added < '2038-01-01Z'
                then (pg_catalog.date_part('epoch', p.added) * 1000000::pg_catalog.float8)::bigint::pg_catalog.text
            when p.added < '2200-01-01Z' then (extract(epoch from p.added) * 1000000::numeric)::bigint::pg_catalog.text
            else ''
        end || p.id::pg_catalog.text as post
    from mbus4_call1_posted p
),
mbus4_call2_args(n, "qname", "data", "headers", "properties", "delayed_until", "expires", "iid") as (
    select 1::bigint, ('audit')::pg_catalog.text,
        (row('id=>1')::mbus4_hstore.given).value,
        null::mbus4_hstore.hstore,
        (row('by=>me')::mbus4_hstore.given).value,
        null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text
),
mbus4_call2_posted as materialized (
    select a.n,
        case
            when pg_catalog.pg_try_advisory_xact_lock_shared(
                1835169140, pg_catalog.hashtext(pg_catalog.lower(a.qname collate "C")) & 63
            )
                then pg_catalog.nextval('mbus4.post_id')
            when pg_catalog.nextval('mbus4.message_id') > 0 then pg_catalog.nextval('mbus4.post_id')
        end as id,
        pg_catalog.clock_timestamp() as added,
        pg_catalog.lower(a.qname collate "C") as queue,
        a.delayed_until::pg_catalog.timestamptz as delayed_until,
        a.expires::pg_catalog.timestamptz as expires,
        a.properties, a.data as data
    from mbus4_call2_args a
),
mbus4_call2_stored as (
    insert into mbus4.message (id, consumer_id, available_at, added, expires, properties, data)
    select p.id, consumer_id, p.added, p.added, p.expires, p.properties, p.data
    from mbus4_call2_posted p
    left join lateral (
        select c.id as consumer_id, case when c.selector_id is not null or c.target is not null then c end as rest
        from mbus4.consumer c
        where c.qname = p.queue
        offset 0
    ) c on true
    where coalesce(
        case
            when consumer_id is not null
                then rest is null
                or case
                    when (rest).target is null
                        and not (rest).general
                        then mbus4.has_asked(rest, p.queue, p.added, null, p.properties, p.data) is true
                    else mbus4.receives(
                        rest, p.queue, p.id, p.added, null, p.delayed_until, p.expires, null, p.properties, p.data, null, false,
                        null
                    )
                end
        end,
        mbus4.at_post_given_361e6977(
            '2 _session_secret_', p.queue, p.id, p.added, null, p.delayed_until, p.expires, null, p.properties, p.data, null,
            false
        ) is null
    )
),
mbus4_call2 as (
    select p.n,
        p.queue || '.' || pg_catalog.current_database()::pg_catalog.text || '.' || case
            when p.added < '2038-01-01Z'
                then (pg_catalog.date_part('epoch', p.added) * 1000000::pg_catalog.float8)::bigint::pg_catalog.text
            when p.added < '2200-01-01Z' then (extract(epoch from p.added) * 1000000::numeric)::bigint::pg_catalog.text
            else ''
        end || p.id::pg_catalog.text as post
    from mbus4_call2_posted p
)
select (select "post" as "post_orders" from mbus4_call1), (select "post" as "post_audit" from mbus4_call2);
-- where there is in the database:
create or replace function mbus4.at_post_given_361e6977(
    call text, queue text, id bigint, added timestamptz, iid text, delayed_until timestamptz, expires timestamptz,
    headers mbus4_hstore.hstore, properties mbus4_hstore.hstore, data mbus4_hstore.hstore, consumers bigint[], waits boolean
) returns text language plpgsql volatile cost 1
set plan_cache_mode = force_generic_plan
set jit = off as $mbus4$ #variable_conflict use_column declare mbus4_dmq constant boolean := $2 is not distinct from 'dmq'; mbus4_headers mbus4_hstore.hstore := case when $8 operator(mbus4_hstore.->) 'seenby'::pg_catalog.text is null then $8 operator(mbus4_hstore.-) 'seenby'::pg_catalog.text when $2 = 'dmq' then $8 else $8 operator(mbus4_hstore.||) mbus4_hstore.hstore('seenby'::pg_catalog.text, pg_catalog.array_append(case when $8 operator(mbus4_hstore.->) 'seenby'::pg_catalog.text operator(pg_catalog.!~) '^[[:space:]]*[[{]' then pg_catalog.left(pg_catalog.format('mbus4-error '||$1||' 22P02 the header seenby is not an array: %s', $8 operator(mbus4_hstore.->) 'seenby'::pg_catalog.text), 2000)::int::pg_catalog.text::pg_catalog.text[] else ($8 operator(mbus4_hstore.->) 'seenby'::pg_catalog.text)::pg_catalog.text[] end, pg_catalog.current_database()::pg_catalog.text)::pg_catalog.text) end; mbus4_wanted constant pg_catalog.text[] := case when $8 operator(mbus4_hstore.->) 'consume_after'::pg_catalog.text operator(pg_catalog.!~) '^[[:space:]]*[[{]' then pg_catalog.left(pg_catalog.format('mbus4-error '||$1||' 22P02 the header consume_after is not an array: %s', $8 operator(mbus4_hstore.->) 'consume_after'::pg_catalog.text), 2000)::int::pg_catalog.text::pg_catalog.text[] else ($8 operator(mbus4_hstore.->) 'consume_after'::pg_catalog.text)::pg_catalog.text[] end; mbus4_redeployed constant boolean := ($8 operator(mbus4_hstore.->) 'Redeploy'::pg_catalog.text)::boolean; mbus4_at constant pg_catalog.timestamptz := case when $6 > $4 and not mbus4_dmq then $6 else $4 end; mbus4_after pg_catalog.text[]; mbus4_iid pg_catalog.text := $5; mbus4_parked boolean := false; mbus4_ids bigint[] := $11; mbus4_stored bigint[]; begin if pg_catalog.cardinality(mbus4_wanted) > 0 and not mbus4_dmq then mbus4_after := mbus4_wanted; mbus4_parked := $12 or mbus4.awaits_delivery(mbus4_after); end if; if mbus4_iid is null and (mbus4_at >= '2200-01-01Z' or pg_catalog.cardinality(mbus4_wanted) > 0) then mbus4_iid := $2 || '.' || pg_catalog.current_database()::pg_catalog.text || '.' || $3::pg_catalog.text; end if; if mbus4_ids is null then select pg_catalog.array_agg(c.id) into mbus4_ids from mbus4.consumer c where c.qname = $2 and case when c.target is null and c.selector_id is null then true when c.target is null or mbus4_redeployed is not true then mbus4.receives(c, $2, $3, $4, mbus4_iid, $6, $7, mbus4_headers, $9, $10, mbus4_after, mbus4_parked, null) end; if mbus4_ids is null then perform case when exists (select from mbus4.consumer c where c.qname = $2 and c.target is null) or exists (select from mbus4.queue q where q.qname = $2) or ($2 operator(pg_catalog.~) '^temp[.][0-9a-f]{32}[.][0-9]+$' and mbus4.is_gone($2, ''||$1||'')) then 0 else pg_catalog.left(pg_catalog.format('mbus4-error '||$1||' 42704 queue %s does not exist', coalesce('"' || $2 || '"', 'null')), 2000)::int end; end if; end if; if pg_catalog.cardinality(mbus4_ids) > 0 then if $5 is null then insert into mbus4.message (id, consumer_id, available_at, added, iid, delayed_until, expires, headers, properties, data, after) select $3, s.consumer_id, case when mbus4_parked then 'infinity' else mbus4_at end, $4, mbus4_iid, $6, $7, mbus4_headers, $9, $10, mbus4_after from pg_catalog.unnest(mbus4_ids) s (consumer_id); mbus4_stored := mbus4_ids; else delete from mbus4.message m where m.iid = $5 and m.consumer_id + 0 = any(mbus4_ids) and m.expires <= $4 and m.consumer_id <> 1 and not (m.available_at > pg_catalog.clock_timestamp() and m.available_at < 'infinity' and mbus4.is_leased(m.available_at, m.delayed_until, m.headers)); with stored as ( insert into mbus4.message (id, consumer_id, available_at, added, iid, delayed_until, expires, headers, properties, data, after) select $3, s.consumer_id, case when mbus4_parked then 'infinity' else mbus4_at end, $4, mbus4_iid, $6, $7, mbus4_headers, $9, $10, mbus4_after from pg_catalog.unnest(mbus4_ids) s (consumer_id) where ( select 1 from mbus4.places_of_iid($5) i join mbus4.message o on o.consumer_id = s.consumer_id and o.available_at = i.available_at and o.id = i.id where i.queue = $2 and o.iid is null for key share of o) is null on conflict (iid, consumer_id) where iid is not null do nothing returning consumer_id ) select pg_catalog.array_agg(s.consumer_id) into mbus4_stored from stored s; if mbus4_stored is null then perform pg_catalog.left(pg_catalog.format('mbus4-error '||$1||' 23505 a message with iid "%s" is still waiting in queue "%s"', mbus4_iid, $2), 2000)::int; end if; end if; if mbus4_parked then insert into mbus4.waiting (dep, consumer_id, id) select d.dep, s.consumer_id, $3 from pg_catalog.unnest(mbus4_after) d (dep) cross join pg_catalog.unnest(mbus4_stored) s (consumer_id) where d.dep is not null on conflict do nothing; end if; end if; return coalesce(mbus4_iid, $2 || '.' || pg_catalog.current_database()::pg_catalog.text || '.' || case when mbus4_at < '2038-01-01Z' then (pg_catalog.date_part('epoch', mbus4_at) * 1000000::pg_catalog.float8)::bigint::pg_catalog.text when mbus4_at < '2200-01-01Z' then (extract(epoch from mbus4_at) * 1000000::numeric)::bigint::pg_catalog.text else '' end || $3::pg_catalog.text); end $mbus4$

# More than eight calls share their WITH queries.
values (mbus4.post('a', '')), (mbus4.post('b', '')), (mbus4.post('c', '')), (mbus4.post('d', '')), (mbus4.post('e', '')), (mbus4.post('f', '')), (mbus4.post('g', '')), (mbus4.post('h', '')), (mbus4.post('i', ''))
----
with mbus4_call1_args(n, "qname", "data", "headers", "properties", "delayed_until", "expires", "iid") as (
    values (
        1::bigint, ('a')::pg_catalog.text, (row('')::mbus4_hstore.given).value, null::mbus4_hstore.hstore,
        null::mbus4_hstore.hstore, null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text
    ),
        (
            2::bigint, ('b')::pg_catalog.text, (row('')::mbus4_hstore.given).value, null::mbus4_hstore.hstore,
            null::mbus4_hstore.hstore, null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text
        ),
        (
            3::bigint, ('c')::pg_catalog.text, (row('')::mbus4_hstore.given).value, null::mbus4_hstore.hstore,
            null::mbus4_hstore.hstore, null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text
        ),
        (
            4::bigint, ('d')::pg_catalog.text, (row('')::mbus4_hstore.given).value, null::mbus4_hstore.hstore,
            null::mbus4_hstore.hstore, null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text
        ),
        (
            5::bigint, ('e')::pg_catalog.text, (row('')::mbus4_hstore.given).value, null::mbus4_hstore.hstore,
            null::mbus4_hstore.hstore, null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text
        ),
        (
            6::bigint, ('f')::pg_catalog.text, (row('')::mbus4_hstore.given).value, null::mbus4_hstore.hstore,
            null::mbus4_hstore.hstore, null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text
        ),
        (
            7::bigint, ('g')::pg_catalog.text, (row('')::mbus4_hstore.given).value, null::mbus4_hstore.hstore,
            null::mbus4_hstore.hstore, null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text
        ),
        (
            8::bigint, ('h')::pg_catalog.text, (row('')::mbus4_hstore.given).value, null::mbus4_hstore.hstore,
            null::mbus4_hstore.hstore, null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text
        ),
        (
            9::bigint, ('i')::pg_catalog.text, (row('')::mbus4_hstore.given).value, null::mbus4_hstore.hstore,
            null::mbus4_hstore.hstore, null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text
        )
),
mbus4_call1_posted as materialized (
    select a.n,
        case
            when pg_catalog.pg_try_advisory_xact_lock_shared(
                1835169140, pg_catalog.hashtext(pg_catalog.lower(a.qname collate "C")) & 63
            )
                then pg_catalog.nextval('mbus4.post_id')
            when pg_catalog.nextval('mbus4.message_id') > 0 then pg_catalog.nextval('mbus4.post_id')
        end as id,
        pg_catalog.clock_timestamp() as added,
        pg_catalog.lower(a.qname collate "C") as queue,
        a.delayed_until::pg_catalog.timestamptz as delayed_until,
        a.expires::pg_catalog.timestamptz as expires,
        a.properties, a.data as data
    from mbus4_call1_args a
),
mbus4_call1_stored as (
    insert into mbus4.message (id, consumer_id, available_at, added, expires, properties, data)
    select p.id, consumer_id, p.added, p.added, p.expires, p.properties, p.data
    from (
        select p.*, c.consumer_id, c.rest
        from mbus4_call1_posted p full
        join (
            select q.queue, c.consumer_id, c.rest
            from (select distinct p.queue from mbus4_call1_posted p) q
            cross join lateral (
                select c.id as consumer_id, case when c.selector_id is not null or c.target is not null then c end as rest
                from mbus4.consumer c
                where c.qname = q.queue
                offset 0
            ) c
        ) c on c.queue = p.queue
        order by p.id
        offset 0
    ) p
    where coalesce(
        case
            when consumer_id is not null
                then rest is null
                or case
                    when (rest).target is null
                        and not (rest).general
                        then mbus4.has_asked(rest, p.queue, p.added, null, p.properties, p.data) is true
                    else mbus4.receives(
                        rest, p.queue, p.id, p.added, null, p.delayed_until, p.expires, null, p.properties, p.data, null, false,
                        null
                    )
                end
        end,
        mbus4.at_post_given_361e6977(
            ''||p.n||' _session_secret_', p.queue, p.id, p.added, null, p.delayed_until, p.expires, null, p.properties, p.data,
            null, false
        ) is null
    )
),
mbus4_call1 as (
    select p.n,
        p.queue || '.' || pg_catalog.current_database()::pg_catalog.text || '.' || case
            when p.added < '2038-01-01Z'
                then (pg_catalog.date_part('epoch', p.added) * 1000000::pg_catalog.float8)::bigint::pg_catalog.text
            when p.added < '2200-01-01Z' then (extract(epoch from p.added) * 1000000::numeric)::bigint::pg_catalog.text
            else ''
        end || p.id::pg_catalog.text as post
    from mbus4_call1_posted p
)
values ((select "post" as "post" from mbus4_call1 where n = 1 and pg_catalog.clock_timestamp() is not null)),
    ((select "post" as "post" from mbus4_call1 where n = 2 and pg_catalog.clock_timestamp() is not null)),
    ((select "post" as "post" from mbus4_call1 where n = 3 and pg_catalog.clock_timestamp() is not null)),
    ((select "post" as "post" from mbus4_call1 where n = 4 and pg_catalog.clock_timestamp() is not null)),
    ((select "post" as "post" from mbus4_call1 where n = 5 and pg_catalog.clock_timestamp() is not null)),
    ((select "post" as "post" from mbus4_call1 where n = 6 and pg_catalog.clock_timestamp() is not null)),
    ((select "post" as "post" from mbus4_call1 where n = 7 and pg_catalog.clock_timestamp() is not null)),
    ((select "post" as "post" from mbus4_call1 where n = 8 and pg_catalog.clock_timestamp() is not null)),
    ((select "post" as "post" from mbus4_call1 where n = 9 and pg_catalog.clock_timestamp() is not null));
-- where there is in the database:
create or replace function mbus4.at_post_given_361e6977(
    call text, queue text, id bigint, added timestamptz, iid text, delayed_until timestamptz, expires timestamptz,
    headers mbus4_hstore.hstore, properties mbus4_hstore.hstore, data mbus4_hstore.hstore, consumers bigint[], waits boolean
) returns text language plpgsql volatile cost 1
set plan_cache_mode = force_generic_plan
set jit = off as $mbus4$ #variable_conflict use_column declare mbus4_dmq constant boolean := $2 is not distinct from 'dmq'; mbus4_headers mbus4_hstore.hstore := case when $8 operator(mbus4_hstore.->) 'seenby'::pg_catalog.text is null then $8 operator(mbus4_hstore.-) 'seenby'::pg_catalog.text when $2 = 'dmq' then $8 else $8 operator(mbus4_hstore.||) mbus4_hstore.hstore('seenby'::pg_catalog.text, pg_catalog.array_append(case when $8 operator(mbus4_hstore.->) 'seenby'::pg_catalog.text operator(pg_catalog.!~) '^[[:space:]]*[[{]' then pg_catalog.left(pg_catalog.format('mbus4-error '||$1||' 22P02 the header seenby is not an array: %s', $8 operator(mbus4_hstore.->) 'seenby'::pg_catalog.text), 2000)::int::pg_catalog.text::pg_catalog.text[] else ($8 operator(mbus4_hstore.->) 'seenby'::pg_catalog.text)::pg_catalog.text[] end, pg_catalog.current_database()::pg_catalog.text)::pg_catalog.text) end; mbus4_wanted constant pg_catalog.text[] := case when $8 operator(mbus4_hstore.->) 'consume_after'::pg_catalog.text operator(pg_catalog.!~) '^[[:space:]]*[[{]' then pg_catalog.left(pg_catalog.format('mbus4-error '||$1||' 22P02 the header consume_after is not an array: %s', $8 operator(mbus4_hstore.->) 'consume_after'::pg_catalog.text), 2000)::int::pg_catalog.text::pg_catalog.text[] else ($8 operator(mbus4_hstore.->) 'consume_after'::pg_catalog.text)::pg_catalog.text[] end; mbus4_redeployed constant boolean := ($8 operator(mbus4_hstore.->) 'Redeploy'::pg_catalog.text)::boolean; mbus4_at constant pg_catalog.timestamptz := case when $6 > $4 and not mbus4_dmq then $6 else $4 end; mbus4_after pg_catalog.text[]; mbus4_iid pg_catalog.text := $5; mbus4_parked boolean := false; mbus4_ids bigint[] := $11; mbus4_stored bigint[]; begin if pg_catalog.cardinality(mbus4_wanted) > 0 and not mbus4_dmq then mbus4_after := mbus4_wanted; mbus4_parked := $12 or mbus4.awaits_delivery(mbus4_after); end if; if mbus4_iid is null and (mbus4_at >= '2200-01-01Z' or pg_catalog.cardinality(mbus4_wanted) > 0) then mbus4_iid := $2 || '.' || pg_catalog.current_database()::pg_catalog.text || '.' || $3::pg_catalog.text; end if; if mbus4_ids is null then select pg_catalog.array_agg(c.id) into mbus4_ids from mbus4.consumer c where c.qname = $2 and case when c.target is null and c.selector_id is null then true when c.target is null or mbus4_redeployed is not true then mbus4.receives(c, $2, $3, $4, mbus4_iid, $6, $7, mbus4_headers, $9, $10, mbus4_after, mbus4_parked, null) end; if mbus4_ids is null then perform case when exists (select from mbus4.consumer c where c.qname = $2 and c.target is null) or exists (select from mbus4.queue q where q.qname = $2) or ($2 operator(pg_catalog.~) '^temp[.][0-9a-f]{32}[.][0-9]+$' and mbus4.is_gone($2, ''||$1||'')) then 0 else pg_catalog.left(pg_catalog.format('mbus4-error '||$1||' 42704 queue %s does not exist', coalesce('"' || $2 || '"', 'null')), 2000)::int end; end if; end if; if pg_catalog.cardinality(mbus4_ids) > 0 then if $5 is null then insert into mbus4.message (id, consumer_id, available_at, added, iid, delayed_until, expires, headers, properties, data, after) select $3, s.consumer_id, case when mbus4_parked then 'infinity' else mbus4_at end, $4, mbus4_iid, $6, $7, mbus4_headers, $9, $10, mbus4_after from pg_catalog.unnest(mbus4_ids) s (consumer_id); mbus4_stored := mbus4_ids; else delete from mbus4.message m where m.iid = $5 and m.consumer_id + 0 = any(mbus4_ids) and m.expires <= $4 and m.consumer_id <> 1 and not (m.available_at > pg_catalog.clock_timestamp() and m.available_at < 'infinity' and mbus4.is_leased(m.available_at, m.delayed_until, m.headers)); with stored as ( insert into mbus4.message (id, consumer_id, available_at, added, iid, delayed_until, expires, headers, properties, data, after) select $3, s.consumer_id, case when mbus4_parked then 'infinity' else mbus4_at end, $4, mbus4_iid, $6, $7, mbus4_headers, $9, $10, mbus4_after from pg_catalog.unnest(mbus4_ids) s (consumer_id) where ( select 1 from mbus4.places_of_iid($5) i join mbus4.message o on o.consumer_id = s.consumer_id and o.available_at = i.available_at and o.id = i.id where i.queue = $2 and o.iid is null for key share of o) is null on conflict (iid, consumer_id) where iid is not null do nothing returning consumer_id ) select pg_catalog.array_agg(s.consumer_id) into mbus4_stored from stored s; if mbus4_stored is null then perform pg_catalog.left(pg_catalog.format('mbus4-error '||$1||' 23505 a message with iid "%s" is still waiting in queue "%s"', mbus4_iid, $2), 2000)::int; end if; end if; if mbus4_parked then insert into mbus4.waiting (dep, consumer_id, id) select d.dep, s.consumer_id, $3 from pg_catalog.unnest(mbus4_after) d (dep) cross join pg_catalog.unnest(mbus4_stored) s (consumer_id) where d.dep is not null on conflict do nothing; end if; end if; return coalesce(mbus4_iid, $2 || '.' || pg_catalog.current_database()::pg_catalog.text || '.' || case when mbus4_at < '2038-01-01Z' then (pg_catalog.date_part('epoch', mbus4_at) * 1000000::pg_catalog.float8)::bigint::pg_catalog.text when mbus4_at < '2200-01-01Z' then (extract(epoch from mbus4_at) * 1000000::numeric)::bigint::pg_catalog.text else '' end || $3::pg_catalog.text); end $mbus4$
