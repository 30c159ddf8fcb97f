# A call without the schema. Prepared it looks again whenever it runs.
select post('orders', 'id=>1')
---- unprepared
-- first, the session is asked:
select case
    when (
        pg_catalog.current_schemas(false) operator(pg_catalog.@>) array['mbus4']::pg_catalog.name[]
            and not exists (
                select
                from pg_catalog.pg_proc p
                join pg_catalog.pg_namespace n on n.oid = p.pronamespace
                where p.proname = 'post'
                    and pg_catalog.pg_function_is_visible(p.oid)
                    and n.nspname <> 'mbus4'
                    and (p.prokind = 'p' or p.provariadic <> 0 or 2 between p.pronargs - p.pronargdefaults and p.pronargs)
                    and coalesce(p.proargnames, '{}') operator(pg_catalog.@>) array[]::pg_catalog.text[]
            )
            and not exists (
                select
                from (select pg_catalog.to_regproc('post')::pg_catalog.oid as oid offset 0) r
                where r.oid <> 0 and not exists (select from pg_catalog.pg_proc p where p.oid = r.oid)
            )
            and not exists (
                select
                from pg_catalog.pg_type t
                join pg_catalog.pg_namespace n on n.oid = t.typnamespace
                where 2 = 1
                    and t.typname = 'post'
                    and t.typrelid = 0
                    and t.typisdefined
                    and n.nspname = any (pg_catalog.current_schemas(true))
                    and n.oid <> pg_catalog.pg_my_temp_schema()
            )
    )
        then '1'
    else '0'
end;
-- then:
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
---- prepared
-- first, the session is asked:
select case
    when (
        pg_catalog.current_schemas(false) operator(pg_catalog.@>) array['mbus4']::pg_catalog.name[]
            and not exists (
                select
                from pg_catalog.pg_proc p
                join pg_catalog.pg_namespace n on n.oid = p.pronamespace
                where p.proname = 'post'
                    and pg_catalog.pg_function_is_visible(p.oid)
                    and n.nspname <> 'mbus4'
                    and (p.prokind = 'p' or p.provariadic <> 0 or 2 between p.pronargs - p.pronargdefaults and p.pronargs)
                    and coalesce(p.proargnames, '{}') operator(pg_catalog.@>) array[]::pg_catalog.text[]
            )
            and not exists (
                select
                from (select pg_catalog.to_regproc('post')::pg_catalog.oid as oid offset 0) r
                where r.oid <> 0 and not exists (select from pg_catalog.pg_proc p where p.oid = r.oid)
            )
            and not exists (
                select
                from pg_catalog.pg_type t
                join pg_catalog.pg_namespace n on n.oid = t.typnamespace
                where 2 = 1
                    and t.typname = 'post'
                    and t.typrelid = 0
                    and t.typisdefined
                    and n.nspname = any (pg_catalog.current_schemas(true))
                    and n.oid <> pg_catalog.pg_my_temp_schema()
            )
    )
        then '1'
    else '0'
end;
-- then:
with mbus4_call1_args(n, "qname", "data", "headers", "properties", "delayed_until", "expires", "iid") as (
    select 1::bigint,
        (
            case
                when (
                    select case
                        when (
                            pg_catalog.current_schemas(false) operator(pg_catalog.@>) array['mbus4']::pg_catalog.name[]
                                and not exists (
                                    select
                                    from pg_catalog.pg_proc p
                                    join pg_catalog.pg_namespace n on n.oid = p.pronamespace
                                    where p.proname = 'post'
                                        and pg_catalog.pg_function_is_visible(p.oid)
                                        and n.nspname <> 'mbus4'
                                        and (
                                            p.prokind = 'p'
                                                or p.provariadic <> 0
                                                or 2 between p.pronargs - p.pronargdefaults
                                                and p.pronargs
                                        )
                                        and coalesce(p.proargnames, '{}') operator(pg_catalog.@>) array[]::pg_catalog.text[]
                                )
                                and not exists (
                                    select
                                    from (select pg_catalog.to_regproc('post')::pg_catalog.oid as oid offset 0) r
                                    where r.oid <> 0 and not exists (select from pg_catalog.pg_proc p where p.oid = r.oid)
                                )
                                and not exists (
                                    select
                                    from pg_catalog.pg_type t
                                    join pg_catalog.pg_namespace n on n.oid = t.typnamespace
                                    where 2 = 1
                                        and t.typname = 'post'
                                        and t.typrelid = 0
                                        and t.typisdefined
                                        and n.nspname = any (pg_catalog.current_schemas(true))
                                        and n.oid <> pg_catalog.pg_my_temp_schema()
                                )
                        )
                            then true
                        else pg_catalog.left(
                            pg_catalog.format(
                                'mbus4-error 1 _session_secret_ 42725 the name %s no longer means mbus4.%s', 'post', 'post'
                            ),
                            2000
                        )::int is null
                    end
                )
                    then ('orders')::pg_catalog.text
            end
        ),
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
