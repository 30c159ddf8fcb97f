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
                    when (rest).target is not null
                        then case
                            when (rest).queue_id is not null
                                or mbus4.has_queue(p.queue)
                                then mbus4.copied(
                                    '1 _session_secret_', rest, p.queue, p.id, p.added, null, p.delayed_until, p.expires, null,
                                    p.properties, p.data, null, false, null
                                ) is true
                        end
                    when (rest).general
                        then mbus4.meets(
                            rest, p.queue, p.id, p.added, null, p.delayed_until, p.expires, null, p.properties, p.data
                        ) is true
                    else mbus4.has_asked(rest, p.queue, p.added, null, p.properties, p.data) is true
                end
        end,
        mbus4.at_post_given_bd8e4f80(
            '1 _session_secret_', p.queue, p.id, p.added, null, p.delayed_until, p.expires, null, p.properties, p.data, false
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
create or replace function mbus4.at_post_given_bd8e4f80(
    call text, queue text, id bigint, added timestamptz, iid text, delayed_until timestamptz, expires timestamptz,
    headers mbus4_hstore.hstore, properties mbus4_hstore.hstore, data mbus4_hstore.hstore, waits boolean
) returns text language sql volatile cost 1
set jit = off
set enable_seqscan = off as $mbus4$
 with given as materialized (
     select ($8 operator(mbus4_hstore.->) 'Redeploy'::pg_catalog.text)::boolean is true as redeployed,
         case when $6 > $4 and $2 <> 'dmq' then $6 else $4 end as at,
         nullif(
             case
                 when $8 operator(mbus4_hstore.->) 'consume_after'::pg_catalog.text operator(pg_catalog.!~) '^[[:space:]]*[[{]'
                     then pg_catalog.left(
                         pg_catalog.format(
                             'mbus4-error '||$1||' 22P02 the header consume_after is not an array: %s',
                             $8 operator(mbus4_hstore.->) 'consume_after'::pg_catalog.text
                         ),
                         2000
                     )::int::pg_catalog.text::pg_catalog.text[]
                 else ($8 operator(mbus4_hstore.->) 'consume_after'::pg_catalog.text)::pg_catalog.text[]
             end,
             '{}'
         ) as wanted
 ),
 posted as materialized (
     select g.redeployed, g.at, w.after,
         coalesce(
             $5,
             case
                 when g.at >= '2200-01-01Z'
                     or g.wanted is not null
                     then $2 || '.' || pg_catalog.current_database()::pg_catalog.text || '.' || $3::pg_catalog.text
             end
         ) as iid,
         case when w.after is not null then $11 or mbus4.awaits_delivery(w.after) else false end as parked
     from given g
     cross join lateral (select case when $2 <> 'dmq' then g.wanted end as after offset 0) w
 ),
 recipient as materialized (
     select c.id as consumer_id
     from posted p
     join mbus4.consumer c on c.qname = $2
     where (c.target is null or not p.redeployed)
         and mbus4.receives($1, c, $2, $3, $4, p.iid, $6, $7, $8, $9, $10, p.after, p.parked, null)
 ),
 removed as (
     delete from mbus4.message m
     where m.iid = $5
         and m.consumer_id + 0 = any(array(select r.consumer_id from recipient r))
         and m.expires <= $4
         and m.consumer_id <> 1
         and not (
             m.available_at > pg_catalog.clock_timestamp()
                 and m.available_at < 'infinity'
                 and mbus4.is_leased(m.available_at, m.delayed_until, m.headers)
         )
     returning 1
 ),
 stored as (
     insert into mbus4.message (
         id, consumer_id, available_at, added, iid, delayed_until, expires, headers, properties, data, after
     )
     select $3, r.consumer_id, case when p.parked then 'infinity' else p.at end, $4, p.iid, $6, $7, $8, $9, $10, p.after
     from posted p
     cross join recipient r
     where (select pg_catalog.count(*) from removed) >= 0
         and (
             select 1
             from mbus4.places_of_iid($5) i
             join mbus4.message o on o.consumer_id = r.consumer_id and o.available_at = i.available_at and o.id = i.id
             where i.queue = $2 and o.iid is null
             for key share of o
         ) is null
     on conflict (iid, consumer_id)
     where iid is not null do nothing
     returning consumer_id
 ),
 waits as (
     insert into mbus4.waiting (dep, consumer_id, id)
     select d.dep, s.consumer_id, $3
     from posted p
     cross join stored s
     cross join pg_catalog.unnest(p.after) d (dep)
     where p.parked and d.dep is not null
     on conflict do nothing
 )
 select coalesce(
     case
         when exists (select from recipient)
             then case
                 when exists (select from stored) then null
                 else pg_catalog.left(
                     pg_catalog.format(
                         'mbus4-error '||$1||' 23505 a message with iid "%s" is still waiting in queue "%s"', p.iid, $2
                     ),
                     2000
                 )::int
             end
         when exists (select from mbus4.consumer c where c.qname = $2 and c.target is null)
             or exists (select from mbus4.queue q where q.qname = $2)
             or ($2 operator(pg_catalog.~) '^temp[.][0-9a-f]{32}[.][0-9]+$' and mbus4.is_gone($2, ''||$1||''))
             then null
         else pg_catalog.left(
             pg_catalog.format('mbus4-error '||$1||' 42704 queue %s does not exist', coalesce('"' || $2 || '"', 'null')), 2000
         )::int
     end::pg_catalog.text,
     p.iid,
     $2 || '.' || pg_catalog.current_database()::pg_catalog.text || '.' || case
         when p.at < '2038-01-01Z'
             then (pg_catalog.date_part('epoch', p.at) * 1000000::pg_catalog.float8)::bigint::pg_catalog.text
         when p.at < '2200-01-01Z' then (extract(epoch from p.at) * 1000000::numeric)::bigint::pg_catalog.text
         else ''
     end || $3::pg_catalog.text
 )
 from posted p
$mbus4$

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
        coalesce(
            w.given,
            case
                when case
                    when w.delayed_until > w.added and w.queue <> 'dmq' then w.delayed_until
                    else w.added
                end >= '2200-01-01Z'
                    or w.after is not null
                    then w.queue || '.' || pg_catalog.current_database()::pg_catalog.text || '.' || w.id::pg_catalog.text
            end
        ) as iid,
        w.after is not null and w.queue <> 'dmq' and (select true from mbus4.awaited(w.after) limit 1) is not null as waits,
        case
            when w.given is null
                or (
                    pg_catalog.strpos(w.given, '.' || pg_catalog.current_database()::pg_catalog.text || '.') = 0
                        or w.given operator(pg_catalog.!~) '[.][1-9][0-9]{16,}$'
                )
                and not exists (select from mbus4.message m where m.iid = w.given)
                then null
            else mbus4.at_post_given_bd8e4f80(
                '1 _session_secret_', w.queue, w.id, w.added, w.given, w.delayed_until, w.expires, w.headers, w.properties,
                w.data, false
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
            a.iid as given,
            case
                when mbus4_hstore.exist(a.headers, 'seenby')
                    then mbus4.seen_here('1 _session_secret_', pg_catalog.lower(a.qname collate "C"), a.headers)
                else a.headers
            end as headers,
            nullif(
                case
                    when a.headers
                        operator(mbus4_hstore.->) 'consume_after'::pg_catalog.text
                        operator(pg_catalog.!~) '^[[:space:]]*[[{]'
                        then pg_catalog.left(
                            pg_catalog.format(
                                'mbus4-error 1 _session_secret_ 22P02 the header consume_after is not an array: %s',
                                a.headers operator(mbus4_hstore.->) 'consume_after'::pg_catalog.text
                            ),
                            2000
                        )::int::pg_catalog.text::pg_catalog.text[]
                    else (a.headers operator(mbus4_hstore.->) 'consume_after'::pg_catalog.text)::pg_catalog.text[]
                end,
                '{}'
            ) as after,
            (a.headers operator(mbus4_hstore.->) 'Redeploy'::pg_catalog.text)::boolean as redeployed,
            a.delayed_until::pg_catalog.timestamptz as delayed_until,
            a.expires::pg_catalog.timestamptz as expires,
            a.properties, a.data as data
        from mbus4_call1_args a
        offset 0
    ) w
    offset 0
),
mbus4_call1_stored as (
    insert into mbus4.message (
        id, consumer_id, available_at, added, iid, delayed_until, expires, headers, properties, data, after
    )
    select p.id, consumer_id,
        case when p.waits then mbus4.parked(p.after, consumer_id, p.id) else p.at end,
        p.added, p.iid, p.delayed_until, p.expires, p.headers, p.properties, p.data,
        case when p.queue <> 'dmq' then p.after end
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
                        when (rest).target is not null
                            then case
                                when (rest).queue_id is not null
                                    or mbus4.has_queue(p.queue)
                                    then mbus4.copied(
                                        '1 _session_secret_', rest, p.queue, p.id, p.added, p.iid, p.delayed_until, p.expires,
                                        p.headers, p.properties, p.data,
                                        case when p.queue <> 'dmq' then p.after end,
                                        p.waits,
                                        case when p.redeployed then array[(rest).target] end
                                    ) is true
                            end
                        when (rest).general
                            then mbus4.meets(
                                rest, p.queue, p.id, p.added, p.iid, p.delayed_until, p.expires, p.headers, p.properties, p.data
                            ) is true
                        else mbus4.has_asked(rest, p.queue, p.added, p.headers, p.properties, p.data) is true
                    end
            end,
            mbus4.at_post_given_bd8e4f80(
                '1 _session_secret_', p.queue, p.id, p.added, null, p.delayed_until, p.expires, p.headers, p.properties, p.data,
                p.waits
            ) is null
        )
),
mbus4_call1 as (
    select p.n,
        coalesce(
            p.done, p.iid,
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
create or replace function mbus4.at_post_given_bd8e4f80(
    call text, queue text, id bigint, added timestamptz, iid text, delayed_until timestamptz, expires timestamptz,
    headers mbus4_hstore.hstore, properties mbus4_hstore.hstore, data mbus4_hstore.hstore, waits boolean
) returns text language sql volatile cost 1
set jit = off
set enable_seqscan = off as $mbus4$
 with given as materialized (
     select ($8 operator(mbus4_hstore.->) 'Redeploy'::pg_catalog.text)::boolean is true as redeployed,
         case when $6 > $4 and $2 <> 'dmq' then $6 else $4 end as at,
         nullif(
             case
                 when $8 operator(mbus4_hstore.->) 'consume_after'::pg_catalog.text operator(pg_catalog.!~) '^[[:space:]]*[[{]'
                     then pg_catalog.left(
                         pg_catalog.format(
                             'mbus4-error '||$1||' 22P02 the header consume_after is not an array: %s',
                             $8 operator(mbus4_hstore.->) 'consume_after'::pg_catalog.text
                         ),
                         2000
                     )::int::pg_catalog.text::pg_catalog.text[]
                 else ($8 operator(mbus4_hstore.->) 'consume_after'::pg_catalog.text)::pg_catalog.text[]
             end,
             '{}'
         ) as wanted
 ),
 posted as materialized (
     select g.redeployed, g.at, w.after,
         coalesce(
             $5,
             case
                 when g.at >= '2200-01-01Z'
                     or g.wanted is not null
                     then $2 || '.' || pg_catalog.current_database()::pg_catalog.text || '.' || $3::pg_catalog.text
             end
         ) as iid,
         case when w.after is not null then $11 or mbus4.awaits_delivery(w.after) else false end as parked
     from given g
     cross join lateral (select case when $2 <> 'dmq' then g.wanted end as after offset 0) w
 ),
 recipient as materialized (
     select c.id as consumer_id
     from posted p
     join mbus4.consumer c on c.qname = $2
     where (c.target is null or not p.redeployed)
         and mbus4.receives($1, c, $2, $3, $4, p.iid, $6, $7, $8, $9, $10, p.after, p.parked, null)
 ),
 removed as (
     delete from mbus4.message m
     where m.iid = $5
         and m.consumer_id + 0 = any(array(select r.consumer_id from recipient r))
         and m.expires <= $4
         and m.consumer_id <> 1
         and not (
             m.available_at > pg_catalog.clock_timestamp()
                 and m.available_at < 'infinity'
                 and mbus4.is_leased(m.available_at, m.delayed_until, m.headers)
         )
     returning 1
 ),
 stored as (
     insert into mbus4.message (
         id, consumer_id, available_at, added, iid, delayed_until, expires, headers, properties, data, after
     )
     select $3, r.consumer_id, case when p.parked then 'infinity' else p.at end, $4, p.iid, $6, $7, $8, $9, $10, p.after
     from posted p
     cross join recipient r
     where (select pg_catalog.count(*) from removed) >= 0
         and (
             select 1
             from mbus4.places_of_iid($5) i
             join mbus4.message o on o.consumer_id = r.consumer_id and o.available_at = i.available_at and o.id = i.id
             where i.queue = $2 and o.iid is null
             for key share of o
         ) is null
     on conflict (iid, consumer_id)
     where iid is not null do nothing
     returning consumer_id
 ),
 waits as (
     insert into mbus4.waiting (dep, consumer_id, id)
     select d.dep, s.consumer_id, $3
     from posted p
     cross join stored s
     cross join pg_catalog.unnest(p.after) d (dep)
     where p.parked and d.dep is not null
     on conflict do nothing
 )
 select coalesce(
     case
         when exists (select from recipient)
             then case
                 when exists (select from stored) then null
                 else pg_catalog.left(
                     pg_catalog.format(
                         'mbus4-error '||$1||' 23505 a message with iid "%s" is still waiting in queue "%s"', p.iid, $2
                     ),
                     2000
                 )::int
             end
         when exists (select from mbus4.consumer c where c.qname = $2 and c.target is null)
             or exists (select from mbus4.queue q where q.qname = $2)
             or ($2 operator(pg_catalog.~) '^temp[.][0-9a-f]{32}[.][0-9]+$' and mbus4.is_gone($2, ''||$1||''))
             then null
         else pg_catalog.left(
             pg_catalog.format('mbus4-error '||$1||' 42704 queue %s does not exist', coalesce('"' || $2 || '"', 'null')), 2000
         )::int
     end::pg_catalog.text,
     p.iid,
     $2 || '.' || pg_catalog.current_database()::pg_catalog.text || '.' || case
         when p.at < '2038-01-01Z'
             then (pg_catalog.date_part('epoch', p.at) * 1000000::pg_catalog.float8)::bigint::pg_catalog.text
         when p.at < '2200-01-01Z' then (extract(epoch from p.at) * 1000000::numeric)::bigint::pg_catalog.text
         else ''
     end || $3::pg_catalog.text
 )
 from posted p
$mbus4$

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
                    when (rest).target is not null
                        then case
                            when (rest).queue_id is not null
                                or mbus4.has_queue(p.queue)
                                then mbus4.copied(
                                    '1 _session_secret_', rest, p.queue, p.id, p.added, null, p.delayed_until, p.expires, null,
                                    p.properties, p.data, null, false, null
                                ) is true
                        end
                    when (rest).general
                        then mbus4.meets(
                            rest, p.queue, p.id, p.added, null, p.delayed_until, p.expires, null, p.properties, p.data
                        ) is true
                    else mbus4.has_asked(rest, p.queue, p.added, null, p.properties, p.data) is true
                end
        end,
        mbus4.at_post_given_bd8e4f80(
            '1 _session_secret_', p.queue, p.id, p.added, null, p.delayed_until, p.expires, null, p.properties, p.data, false
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
create or replace function mbus4.at_post_given_bd8e4f80(
    call text, queue text, id bigint, added timestamptz, iid text, delayed_until timestamptz, expires timestamptz,
    headers mbus4_hstore.hstore, properties mbus4_hstore.hstore, data mbus4_hstore.hstore, waits boolean
) returns text language sql volatile cost 1
set jit = off
set enable_seqscan = off as $mbus4$
 with given as materialized (
     select ($8 operator(mbus4_hstore.->) 'Redeploy'::pg_catalog.text)::boolean is true as redeployed,
         case when $6 > $4 and $2 <> 'dmq' then $6 else $4 end as at,
         nullif(
             case
                 when $8 operator(mbus4_hstore.->) 'consume_after'::pg_catalog.text operator(pg_catalog.!~) '^[[:space:]]*[[{]'
                     then pg_catalog.left(
                         pg_catalog.format(
                             'mbus4-error '||$1||' 22P02 the header consume_after is not an array: %s',
                             $8 operator(mbus4_hstore.->) 'consume_after'::pg_catalog.text
                         ),
                         2000
                     )::int::pg_catalog.text::pg_catalog.text[]
                 else ($8 operator(mbus4_hstore.->) 'consume_after'::pg_catalog.text)::pg_catalog.text[]
             end,
             '{}'
         ) as wanted
 ),
 posted as materialized (
     select g.redeployed, g.at, w.after,
         coalesce(
             $5,
             case
                 when g.at >= '2200-01-01Z'
                     or g.wanted is not null
                     then $2 || '.' || pg_catalog.current_database()::pg_catalog.text || '.' || $3::pg_catalog.text
             end
         ) as iid,
         case when w.after is not null then $11 or mbus4.awaits_delivery(w.after) else false end as parked
     from given g
     cross join lateral (select case when $2 <> 'dmq' then g.wanted end as after offset 0) w
 ),
 recipient as materialized (
     select c.id as consumer_id
     from posted p
     join mbus4.consumer c on c.qname = $2
     where (c.target is null or not p.redeployed)
         and mbus4.receives($1, c, $2, $3, $4, p.iid, $6, $7, $8, $9, $10, p.after, p.parked, null)
 ),
 removed as (
     delete from mbus4.message m
     where m.iid = $5
         and m.consumer_id + 0 = any(array(select r.consumer_id from recipient r))
         and m.expires <= $4
         and m.consumer_id <> 1
         and not (
             m.available_at > pg_catalog.clock_timestamp()
                 and m.available_at < 'infinity'
                 and mbus4.is_leased(m.available_at, m.delayed_until, m.headers)
         )
     returning 1
 ),
 stored as (
     insert into mbus4.message (
         id, consumer_id, available_at, added, iid, delayed_until, expires, headers, properties, data, after
     )
     select $3, r.consumer_id, case when p.parked then 'infinity' else p.at end, $4, p.iid, $6, $7, $8, $9, $10, p.after
     from posted p
     cross join recipient r
     where (select pg_catalog.count(*) from removed) >= 0
         and (
             select 1
             from mbus4.places_of_iid($5) i
             join mbus4.message o on o.consumer_id = r.consumer_id and o.available_at = i.available_at and o.id = i.id
             where i.queue = $2 and o.iid is null
             for key share of o
         ) is null
     on conflict (iid, consumer_id)
     where iid is not null do nothing
     returning consumer_id
 ),
 waits as (
     insert into mbus4.waiting (dep, consumer_id, id)
     select d.dep, s.consumer_id, $3
     from posted p
     cross join stored s
     cross join pg_catalog.unnest(p.after) d (dep)
     where p.parked and d.dep is not null
     on conflict do nothing
 )
 select coalesce(
     case
         when exists (select from recipient)
             then case
                 when exists (select from stored) then null
                 else pg_catalog.left(
                     pg_catalog.format(
                         'mbus4-error '||$1||' 23505 a message with iid "%s" is still waiting in queue "%s"', p.iid, $2
                     ),
                     2000
                 )::int
             end
         when exists (select from mbus4.consumer c where c.qname = $2 and c.target is null)
             or exists (select from mbus4.queue q where q.qname = $2)
             or ($2 operator(pg_catalog.~) '^temp[.][0-9a-f]{32}[.][0-9]+$' and mbus4.is_gone($2, ''||$1||''))
             then null
         else pg_catalog.left(
             pg_catalog.format('mbus4-error '||$1||' 42704 queue %s does not exist', coalesce('"' || $2 || '"', 'null')), 2000
         )::int
     end::pg_catalog.text,
     p.iid,
     $2 || '.' || pg_catalog.current_database()::pg_catalog.text || '.' || case
         when p.at < '2038-01-01Z'
             then (pg_catalog.date_part('epoch', p.at) * 1000000::pg_catalog.float8)::bigint::pg_catalog.text
         when p.at < '2200-01-01Z' then (extract(epoch from p.at) * 1000000::numeric)::bigint::pg_catalog.text
         else ''
     end || $3::pg_catalog.text
 )
 from posted p
$mbus4$

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
                    when (rest).target is not null
                        then case
                            when (rest).queue_id is not null
                                or mbus4.has_queue(p.queue)
                                then mbus4.copied(
                                    '1 _session_secret_', rest, p.queue, p.id, p.added, null, p.delayed_until, p.expires, null,
                                    p.properties, p.data, null, false, null
                                ) is true
                        end
                    when (rest).general
                        then mbus4.meets(
                            rest, p.queue, p.id, p.added, null, p.delayed_until, p.expires, null, p.properties, p.data
                        ) is true
                    else mbus4.has_asked(rest, p.queue, p.added, null, p.properties, p.data) is true
                end
        end,
        mbus4.at_post_given_bd8e4f80(
            '1 _session_secret_', p.queue, p.id, p.added, null, p.delayed_until, p.expires, null, p.properties, p.data, false
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
create or replace function mbus4.at_post_given_bd8e4f80(
    call text, queue text, id bigint, added timestamptz, iid text, delayed_until timestamptz, expires timestamptz,
    headers mbus4_hstore.hstore, properties mbus4_hstore.hstore, data mbus4_hstore.hstore, waits boolean
) returns text language sql volatile cost 1
set jit = off
set enable_seqscan = off as $mbus4$
 with given as materialized (
     select ($8 operator(mbus4_hstore.->) 'Redeploy'::pg_catalog.text)::boolean is true as redeployed,
         case when $6 > $4 and $2 <> 'dmq' then $6 else $4 end as at,
         nullif(
             case
                 when $8 operator(mbus4_hstore.->) 'consume_after'::pg_catalog.text operator(pg_catalog.!~) '^[[:space:]]*[[{]'
                     then pg_catalog.left(
                         pg_catalog.format(
                             'mbus4-error '||$1||' 22P02 the header consume_after is not an array: %s',
                             $8 operator(mbus4_hstore.->) 'consume_after'::pg_catalog.text
                         ),
                         2000
                     )::int::pg_catalog.text::pg_catalog.text[]
                 else ($8 operator(mbus4_hstore.->) 'consume_after'::pg_catalog.text)::pg_catalog.text[]
             end,
             '{}'
         ) as wanted
 ),
 posted as materialized (
     select g.redeployed, g.at, w.after,
         coalesce(
             $5,
             case
                 when g.at >= '2200-01-01Z'
                     or g.wanted is not null
                     then $2 || '.' || pg_catalog.current_database()::pg_catalog.text || '.' || $3::pg_catalog.text
             end
         ) as iid,
         case when w.after is not null then $11 or mbus4.awaits_delivery(w.after) else false end as parked
     from given g
     cross join lateral (select case when $2 <> 'dmq' then g.wanted end as after offset 0) w
 ),
 recipient as materialized (
     select c.id as consumer_id
     from posted p
     join mbus4.consumer c on c.qname = $2
     where (c.target is null or not p.redeployed)
         and mbus4.receives($1, c, $2, $3, $4, p.iid, $6, $7, $8, $9, $10, p.after, p.parked, null)
 ),
 removed as (
     delete from mbus4.message m
     where m.iid = $5
         and m.consumer_id + 0 = any(array(select r.consumer_id from recipient r))
         and m.expires <= $4
         and m.consumer_id <> 1
         and not (
             m.available_at > pg_catalog.clock_timestamp()
                 and m.available_at < 'infinity'
                 and mbus4.is_leased(m.available_at, m.delayed_until, m.headers)
         )
     returning 1
 ),
 stored as (
     insert into mbus4.message (
         id, consumer_id, available_at, added, iid, delayed_until, expires, headers, properties, data, after
     )
     select $3, r.consumer_id, case when p.parked then 'infinity' else p.at end, $4, p.iid, $6, $7, $8, $9, $10, p.after
     from posted p
     cross join recipient r
     where (select pg_catalog.count(*) from removed) >= 0
         and (
             select 1
             from mbus4.places_of_iid($5) i
             join mbus4.message o on o.consumer_id = r.consumer_id and o.available_at = i.available_at and o.id = i.id
             where i.queue = $2 and o.iid is null
             for key share of o
         ) is null
     on conflict (iid, consumer_id)
     where iid is not null do nothing
     returning consumer_id
 ),
 waits as (
     insert into mbus4.waiting (dep, consumer_id, id)
     select d.dep, s.consumer_id, $3
     from posted p
     cross join stored s
     cross join pg_catalog.unnest(p.after) d (dep)
     where p.parked and d.dep is not null
     on conflict do nothing
 )
 select coalesce(
     case
         when exists (select from recipient)
             then case
                 when exists (select from stored) then null
                 else pg_catalog.left(
                     pg_catalog.format(
                         'mbus4-error '||$1||' 23505 a message with iid "%s" is still waiting in queue "%s"', p.iid, $2
                     ),
                     2000
                 )::int
             end
         when exists (select from mbus4.consumer c where c.qname = $2 and c.target is null)
             or exists (select from mbus4.queue q where q.qname = $2)
             or ($2 operator(pg_catalog.~) '^temp[.][0-9a-f]{32}[.][0-9]+$' and mbus4.is_gone($2, ''||$1||''))
             then null
         else pg_catalog.left(
             pg_catalog.format('mbus4-error '||$1||' 42704 queue %s does not exist', coalesce('"' || $2 || '"', 'null')), 2000
         )::int
     end::pg_catalog.text,
     p.iid,
     $2 || '.' || pg_catalog.current_database()::pg_catalog.text || '.' || case
         when p.at < '2038-01-01Z'
             then (pg_catalog.date_part('epoch', p.at) * 1000000::pg_catalog.float8)::bigint::pg_catalog.text
         when p.at < '2200-01-01Z' then (extract(epoch from p.at) * 1000000::numeric)::bigint::pg_catalog.text
         else ''
     end || $3::pg_catalog.text
 )
 from posted p
$mbus4$

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
                    when (rest).target is not null
                        then case
                            when (rest).queue_id is not null
                                or mbus4.has_queue(p.queue)
                                then mbus4.copied(
                                    '1 _session_secret_', rest, p.queue, p.id, p.added, null, p.delayed_until, p.expires, null,
                                    p.properties, p.data, null, false, null
                                ) is true
                        end
                    when (rest).general
                        then mbus4.meets(
                            rest, p.queue, p.id, p.added, null, p.delayed_until, p.expires, null, p.properties, p.data
                        ) is true
                    else mbus4.has_asked(rest, p.queue, p.added, null, p.properties, p.data) is true
                end
        end,
        mbus4.at_post_given_bd8e4f80(
            '1 _session_secret_', p.queue, p.id, p.added, null, p.delayed_until, p.expires, null, p.properties, p.data, false
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
create or replace function mbus4.at_post_given_bd8e4f80(
    call text, queue text, id bigint, added timestamptz, iid text, delayed_until timestamptz, expires timestamptz,
    headers mbus4_hstore.hstore, properties mbus4_hstore.hstore, data mbus4_hstore.hstore, waits boolean
) returns text language sql volatile cost 1
set jit = off
set enable_seqscan = off as $mbus4$
 with given as materialized (
     select ($8 operator(mbus4_hstore.->) 'Redeploy'::pg_catalog.text)::boolean is true as redeployed,
         case when $6 > $4 and $2 <> 'dmq' then $6 else $4 end as at,
         nullif(
             case
                 when $8 operator(mbus4_hstore.->) 'consume_after'::pg_catalog.text operator(pg_catalog.!~) '^[[:space:]]*[[{]'
                     then pg_catalog.left(
                         pg_catalog.format(
                             'mbus4-error '||$1||' 22P02 the header consume_after is not an array: %s',
                             $8 operator(mbus4_hstore.->) 'consume_after'::pg_catalog.text
                         ),
                         2000
                     )::int::pg_catalog.text::pg_catalog.text[]
                 else ($8 operator(mbus4_hstore.->) 'consume_after'::pg_catalog.text)::pg_catalog.text[]
             end,
             '{}'
         ) as wanted
 ),
 posted as materialized (
     select g.redeployed, g.at, w.after,
         coalesce(
             $5,
             case
                 when g.at >= '2200-01-01Z'
                     or g.wanted is not null
                     then $2 || '.' || pg_catalog.current_database()::pg_catalog.text || '.' || $3::pg_catalog.text
             end
         ) as iid,
         case when w.after is not null then $11 or mbus4.awaits_delivery(w.after) else false end as parked
     from given g
     cross join lateral (select case when $2 <> 'dmq' then g.wanted end as after offset 0) w
 ),
 recipient as materialized (
     select c.id as consumer_id
     from posted p
     join mbus4.consumer c on c.qname = $2
     where (c.target is null or not p.redeployed)
         and mbus4.receives($1, c, $2, $3, $4, p.iid, $6, $7, $8, $9, $10, p.after, p.parked, null)
 ),
 removed as (
     delete from mbus4.message m
     where m.iid = $5
         and m.consumer_id + 0 = any(array(select r.consumer_id from recipient r))
         and m.expires <= $4
         and m.consumer_id <> 1
         and not (
             m.available_at > pg_catalog.clock_timestamp()
                 and m.available_at < 'infinity'
                 and mbus4.is_leased(m.available_at, m.delayed_until, m.headers)
         )
     returning 1
 ),
 stored as (
     insert into mbus4.message (
         id, consumer_id, available_at, added, iid, delayed_until, expires, headers, properties, data, after
     )
     select $3, r.consumer_id, case when p.parked then 'infinity' else p.at end, $4, p.iid, $6, $7, $8, $9, $10, p.after
     from posted p
     cross join recipient r
     where (select pg_catalog.count(*) from removed) >= 0
         and (
             select 1
             from mbus4.places_of_iid($5) i
             join mbus4.message o on o.consumer_id = r.consumer_id and o.available_at = i.available_at and o.id = i.id
             where i.queue = $2 and o.iid is null
             for key share of o
         ) is null
     on conflict (iid, consumer_id)
     where iid is not null do nothing
     returning consumer_id
 ),
 waits as (
     insert into mbus4.waiting (dep, consumer_id, id)
     select d.dep, s.consumer_id, $3
     from posted p
     cross join stored s
     cross join pg_catalog.unnest(p.after) d (dep)
     where p.parked and d.dep is not null
     on conflict do nothing
 )
 select coalesce(
     case
         when exists (select from recipient)
             then case
                 when exists (select from stored) then null
                 else pg_catalog.left(
                     pg_catalog.format(
                         'mbus4-error '||$1||' 23505 a message with iid "%s" is still waiting in queue "%s"', p.iid, $2
                     ),
                     2000
                 )::int
             end
         when exists (select from mbus4.consumer c where c.qname = $2 and c.target is null)
             or exists (select from mbus4.queue q where q.qname = $2)
             or ($2 operator(pg_catalog.~) '^temp[.][0-9a-f]{32}[.][0-9]+$' and mbus4.is_gone($2, ''||$1||''))
             then null
         else pg_catalog.left(
             pg_catalog.format('mbus4-error '||$1||' 42704 queue %s does not exist', coalesce('"' || $2 || '"', 'null')), 2000
         )::int
     end::pg_catalog.text,
     p.iid,
     $2 || '.' || pg_catalog.current_database()::pg_catalog.text || '.' || case
         when p.at < '2038-01-01Z'
             then (pg_catalog.date_part('epoch', p.at) * 1000000::pg_catalog.float8)::bigint::pg_catalog.text
         when p.at < '2200-01-01Z' then (extract(epoch from p.at) * 1000000::numeric)::bigint::pg_catalog.text
         else ''
     end || $3::pg_catalog.text
 )
 from posted p
$mbus4$

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
                    when (rest).target is not null
                        then case
                            when (rest).queue_id is not null
                                or mbus4.has_queue(p.queue)
                                then mbus4.copied(
                                    '1 _session_secret_', rest, p.queue, p.id, p.added, null, p.delayed_until, p.expires, null,
                                    p.properties, p.data, null, false, null
                                ) is true
                        end
                    when (rest).general
                        then mbus4.meets(
                            rest, p.queue, p.id, p.added, null, p.delayed_until, p.expires, null, p.properties, p.data
                        ) is true
                    else mbus4.has_asked(rest, p.queue, p.added, null, p.properties, p.data) is true
                end
        end,
        mbus4.at_post_given_bd8e4f80(
            '1 _session_secret_', p.queue, p.id, p.added, null, p.delayed_until, p.expires, null, p.properties, p.data, false
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
                    when (rest).target is not null
                        then case
                            when (rest).queue_id is not null
                                or mbus4.has_queue(p.queue)
                                then mbus4.copied(
                                    '2 _session_secret_', rest, p.queue, p.id, p.added, null, p.delayed_until, p.expires, null,
                                    p.properties, p.data, null, false, null
                                ) is true
                        end
                    when (rest).general
                        then mbus4.meets(
                            rest, p.queue, p.id, p.added, null, p.delayed_until, p.expires, null, p.properties, p.data
                        ) is true
                    else mbus4.has_asked(rest, p.queue, p.added, null, p.properties, p.data) is true
                end
        end,
        mbus4.at_post_given_bd8e4f80(
            '2 _session_secret_', p.queue, p.id, p.added, null, p.delayed_until, p.expires, null, p.properties, p.data, false
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
create or replace function mbus4.at_post_given_bd8e4f80(
    call text, queue text, id bigint, added timestamptz, iid text, delayed_until timestamptz, expires timestamptz,
    headers mbus4_hstore.hstore, properties mbus4_hstore.hstore, data mbus4_hstore.hstore, waits boolean
) returns text language sql volatile cost 1
set jit = off
set enable_seqscan = off as $mbus4$
 with given as materialized (
     select ($8 operator(mbus4_hstore.->) 'Redeploy'::pg_catalog.text)::boolean is true as redeployed,
         case when $6 > $4 and $2 <> 'dmq' then $6 else $4 end as at,
         nullif(
             case
                 when $8 operator(mbus4_hstore.->) 'consume_after'::pg_catalog.text operator(pg_catalog.!~) '^[[:space:]]*[[{]'
                     then pg_catalog.left(
                         pg_catalog.format(
                             'mbus4-error '||$1||' 22P02 the header consume_after is not an array: %s',
                             $8 operator(mbus4_hstore.->) 'consume_after'::pg_catalog.text
                         ),
                         2000
                     )::int::pg_catalog.text::pg_catalog.text[]
                 else ($8 operator(mbus4_hstore.->) 'consume_after'::pg_catalog.text)::pg_catalog.text[]
             end,
             '{}'
         ) as wanted
 ),
 posted as materialized (
     select g.redeployed, g.at, w.after,
         coalesce(
             $5,
             case
                 when g.at >= '2200-01-01Z'
                     or g.wanted is not null
                     then $2 || '.' || pg_catalog.current_database()::pg_catalog.text || '.' || $3::pg_catalog.text
             end
         ) as iid,
         case when w.after is not null then $11 or mbus4.awaits_delivery(w.after) else false end as parked
     from given g
     cross join lateral (select case when $2 <> 'dmq' then g.wanted end as after offset 0) w
 ),
 recipient as materialized (
     select c.id as consumer_id
     from posted p
     join mbus4.consumer c on c.qname = $2
     where (c.target is null or not p.redeployed)
         and mbus4.receives($1, c, $2, $3, $4, p.iid, $6, $7, $8, $9, $10, p.after, p.parked, null)
 ),
 removed as (
     delete from mbus4.message m
     where m.iid = $5
         and m.consumer_id + 0 = any(array(select r.consumer_id from recipient r))
         and m.expires <= $4
         and m.consumer_id <> 1
         and not (
             m.available_at > pg_catalog.clock_timestamp()
                 and m.available_at < 'infinity'
                 and mbus4.is_leased(m.available_at, m.delayed_until, m.headers)
         )
     returning 1
 ),
 stored as (
     insert into mbus4.message (
         id, consumer_id, available_at, added, iid, delayed_until, expires, headers, properties, data, after
     )
     select $3, r.consumer_id, case when p.parked then 'infinity' else p.at end, $4, p.iid, $6, $7, $8, $9, $10, p.after
     from posted p
     cross join recipient r
     where (select pg_catalog.count(*) from removed) >= 0
         and (
             select 1
             from mbus4.places_of_iid($5) i
             join mbus4.message o on o.consumer_id = r.consumer_id and o.available_at = i.available_at and o.id = i.id
             where i.queue = $2 and o.iid is null
             for key share of o
         ) is null
     on conflict (iid, consumer_id)
     where iid is not null do nothing
     returning consumer_id
 ),
 waits as (
     insert into mbus4.waiting (dep, consumer_id, id)
     select d.dep, s.consumer_id, $3
     from posted p
     cross join stored s
     cross join pg_catalog.unnest(p.after) d (dep)
     where p.parked and d.dep is not null
     on conflict do nothing
 )
 select coalesce(
     case
         when exists (select from recipient)
             then case
                 when exists (select from stored) then null
                 else pg_catalog.left(
                     pg_catalog.format(
                         'mbus4-error '||$1||' 23505 a message with iid "%s" is still waiting in queue "%s"', p.iid, $2
                     ),
                     2000
                 )::int
             end
         when exists (select from mbus4.consumer c where c.qname = $2 and c.target is null)
             or exists (select from mbus4.queue q where q.qname = $2)
             or ($2 operator(pg_catalog.~) '^temp[.][0-9a-f]{32}[.][0-9]+$' and mbus4.is_gone($2, ''||$1||''))
             then null
         else pg_catalog.left(
             pg_catalog.format('mbus4-error '||$1||' 42704 queue %s does not exist', coalesce('"' || $2 || '"', 'null')), 2000
         )::int
     end::pg_catalog.text,
     p.iid,
     $2 || '.' || pg_catalog.current_database()::pg_catalog.text || '.' || case
         when p.at < '2038-01-01Z'
             then (pg_catalog.date_part('epoch', p.at) * 1000000::pg_catalog.float8)::bigint::pg_catalog.text
         when p.at < '2200-01-01Z' then (extract(epoch from p.at) * 1000000::numeric)::bigint::pg_catalog.text
         else ''
     end || $3::pg_catalog.text
 )
 from posted p
$mbus4$

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
                    when (rest).target is not null
                        then case
                            when (rest).queue_id is not null
                                or mbus4.has_queue(p.queue)
                                then mbus4.copied(
                                    ''||p.n||' _session_secret_', rest, p.queue, p.id, p.added, null, p.delayed_until, p.expires,
                                    null, p.properties, p.data, null, false, null
                                ) is true
                        end
                    when (rest).general
                        then mbus4.meets(
                            rest, p.queue, p.id, p.added, null, p.delayed_until, p.expires, null, p.properties, p.data
                        ) is true
                    else mbus4.has_asked(rest, p.queue, p.added, null, p.properties, p.data) is true
                end
        end,
        mbus4.at_post_given_bd8e4f80(
            ''||p.n||' _session_secret_', p.queue, p.id, p.added, null, p.delayed_until, p.expires, null, p.properties, p.data,
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
create or replace function mbus4.at_post_given_bd8e4f80(
    call text, queue text, id bigint, added timestamptz, iid text, delayed_until timestamptz, expires timestamptz,
    headers mbus4_hstore.hstore, properties mbus4_hstore.hstore, data mbus4_hstore.hstore, waits boolean
) returns text language sql volatile cost 1
set jit = off
set enable_seqscan = off as $mbus4$
 with given as materialized (
     select ($8 operator(mbus4_hstore.->) 'Redeploy'::pg_catalog.text)::boolean is true as redeployed,
         case when $6 > $4 and $2 <> 'dmq' then $6 else $4 end as at,
         nullif(
             case
                 when $8 operator(mbus4_hstore.->) 'consume_after'::pg_catalog.text operator(pg_catalog.!~) '^[[:space:]]*[[{]'
                     then pg_catalog.left(
                         pg_catalog.format(
                             'mbus4-error '||$1||' 22P02 the header consume_after is not an array: %s',
                             $8 operator(mbus4_hstore.->) 'consume_after'::pg_catalog.text
                         ),
                         2000
                     )::int::pg_catalog.text::pg_catalog.text[]
                 else ($8 operator(mbus4_hstore.->) 'consume_after'::pg_catalog.text)::pg_catalog.text[]
             end,
             '{}'
         ) as wanted
 ),
 posted as materialized (
     select g.redeployed, g.at, w.after,
         coalesce(
             $5,
             case
                 when g.at >= '2200-01-01Z'
                     or g.wanted is not null
                     then $2 || '.' || pg_catalog.current_database()::pg_catalog.text || '.' || $3::pg_catalog.text
             end
         ) as iid,
         case when w.after is not null then $11 or mbus4.awaits_delivery(w.after) else false end as parked
     from given g
     cross join lateral (select case when $2 <> 'dmq' then g.wanted end as after offset 0) w
 ),
 recipient as materialized (
     select c.id as consumer_id
     from posted p
     join mbus4.consumer c on c.qname = $2
     where (c.target is null or not p.redeployed)
         and mbus4.receives($1, c, $2, $3, $4, p.iid, $6, $7, $8, $9, $10, p.after, p.parked, null)
 ),
 removed as (
     delete from mbus4.message m
     where m.iid = $5
         and m.consumer_id + 0 = any(array(select r.consumer_id from recipient r))
         and m.expires <= $4
         and m.consumer_id <> 1
         and not (
             m.available_at > pg_catalog.clock_timestamp()
                 and m.available_at < 'infinity'
                 and mbus4.is_leased(m.available_at, m.delayed_until, m.headers)
         )
     returning 1
 ),
 stored as (
     insert into mbus4.message (
         id, consumer_id, available_at, added, iid, delayed_until, expires, headers, properties, data, after
     )
     select $3, r.consumer_id, case when p.parked then 'infinity' else p.at end, $4, p.iid, $6, $7, $8, $9, $10, p.after
     from posted p
     cross join recipient r
     where (select pg_catalog.count(*) from removed) >= 0
         and (
             select 1
             from mbus4.places_of_iid($5) i
             join mbus4.message o on o.consumer_id = r.consumer_id and o.available_at = i.available_at and o.id = i.id
             where i.queue = $2 and o.iid is null
             for key share of o
         ) is null
     on conflict (iid, consumer_id)
     where iid is not null do nothing
     returning consumer_id
 ),
 waits as (
     insert into mbus4.waiting (dep, consumer_id, id)
     select d.dep, s.consumer_id, $3
     from posted p
     cross join stored s
     cross join pg_catalog.unnest(p.after) d (dep)
     where p.parked and d.dep is not null
     on conflict do nothing
 )
 select coalesce(
     case
         when exists (select from recipient)
             then case
                 when exists (select from stored) then null
                 else pg_catalog.left(
                     pg_catalog.format(
                         'mbus4-error '||$1||' 23505 a message with iid "%s" is still waiting in queue "%s"', p.iid, $2
                     ),
                     2000
                 )::int
             end
         when exists (select from mbus4.consumer c where c.qname = $2 and c.target is null)
             or exists (select from mbus4.queue q where q.qname = $2)
             or ($2 operator(pg_catalog.~) '^temp[.][0-9a-f]{32}[.][0-9]+$' and mbus4.is_gone($2, ''||$1||''))
             then null
         else pg_catalog.left(
             pg_catalog.format('mbus4-error '||$1||' 42704 queue %s does not exist', coalesce('"' || $2 || '"', 'null')), 2000
         )::int
     end::pg_catalog.text,
     p.iid,
     $2 || '.' || pg_catalog.current_database()::pg_catalog.text || '.' || case
         when p.at < '2038-01-01Z'
             then (pg_catalog.date_part('epoch', p.at) * 1000000::pg_catalog.float8)::bigint::pg_catalog.text
         when p.at < '2200-01-01Z' then (extract(epoch from p.at) * 1000000::numeric)::bigint::pg_catalog.text
         else ''
     end || $3::pg_catalog.text
 )
 from posted p
$mbus4$
