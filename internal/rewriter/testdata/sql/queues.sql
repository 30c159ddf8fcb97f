select mbus4.create_queue('orders', 4)
----
with mbus4_call1_args(n, "qname", "ncons") as (select 1::bigint, ('orders')::pg_catalog.text, (4)::integer),
mbus4_call1_asked as materialized (
    select a.n,
        case
            when a.qname collate "C" ~ '^[a-z0-9_]{1,32}$' and a.qname not in ('dmq', 'temp') then a.qname
            else pg_catalog.left(
                pg_catalog.format(
                    'mbus4-error 1 _session_secret_ 42602 %s is not a valid name for a queue',
                    coalesce('"' || a.qname || '"', 'null')
                ),
                2000
            )::int::pg_catalog.text
        end as name,
        case
            when a.ncons >= 1 then a.ncons
            else pg_catalog.left(
                pg_catalog.format(
                    'mbus4-error 1 _session_secret_ 22023 the number of consumers of queue "%s" must be at least 1', a.qname
                ),
                2000
            )::int
        end as ncons
    from mbus4_call1_args a
),
mbus4_call1_created as (
    insert into mbus4.queue (qname, consumers_cnt)
    select distinct on (v.name) v.name, v.ncons
    from mbus4_call1_asked v
    order by v.name, v.n desc
    on conflict (qname) do update
    set consumers_cnt = excluded.consumers_cnt
    returning id, qname, consumers_cnt, xmax = 0 as created
),
mbus4_call1_checked as materialized (
    select v.n
    from mbus4_call1_asked v
    join mbus4_call1_created q on q.qname = v.name
    where q.created
        or pg_catalog.to_tsquery(
            'simple',
            pg_catalog.translate(
                (
                    'x' || pg_catalog.encode(
                        pg_catalog.convert_to(
                            'm4 1 _session_secret_ ' || '42710 queue "' || q.qname || '" already exists, its number of consumers is now ' || q.consumers_cnt,
                            'UTF8'
                        ),
                        'hex'
                    )
                )::pg_catalog.varbit::pg_catalog.text,
                '01', E' \t'
            )
        ) is not null
),
mbus4_call1_consumers as (
    insert into mbus4.consumer (queue_id, qname, name)
    select q.id, q.qname, 'default'
    from mbus4_call1_created q
    where q.created
    union all select null, null, null
    from mbus4_call1_checked
    where pg_catalog.num_nulls(mbus4_call1_checked.n) > 0
),
mbus4_call1 as (select r.n, ''::pg_catalog.void as create_queue from mbus4_call1_checked r)
select (select "create_queue" as "create_queue" from mbus4_call1)

select mbus4.drop_queue('orders')
----
with mbus4_call1_args(n, "qname") as (select 1::bigint, ('orders')::pg_catalog.text),
mbus4_call1_dropped as (
    delete from mbus4.queue q using mbus4_call1_args a
    where q.qname = pg_catalog.lower(a.qname collate "C")
        and case
            when q.qname = pg_catalog.lower(a.qname collate "C")
                and q.qname in ('dmq', 'semaphore_events')
                then pg_catalog.left(
                    pg_catalog.format(
                        'mbus4-error 1 _session_secret_ 42809 queue "%s" belongs to the schema and cannot be dropped', q.qname
                    ),
                    2000
                )::int = 0
            else true
        end
    returning a.n, q.qname
),
mbus4_call1_triggers as (
    delete from mbus4.consumer c using mbus4_call1_dropped q
    where c.target = q.qname or c.target is not null and c.qname = q.qname and c.queue_id is null
),
mbus4_call1_keys as (delete from mbus4.unique_post u using mbus4_call1_dropped q where u.queue = q.qname),
mbus4_call1_checked as materialized (
    select a.n
    from mbus4_call1_args a
    where exists (select from mbus4_call1_dropped q where q.n = a.n) or pg_catalog.
    left(
        pg_catalog.format('mbus4-error 1 _session_secret_ 42704 queue %s does not exist', coalesce('"' || a.qname || '"', 'null')),
        2000
    )::int = 0
),
mbus4_call1_enforced as (
    insert into mbus4.consumer (qname, name)
    select null, null
    from mbus4_call1_checked
    where pg_catalog.num_nulls(mbus4_call1_checked.n) > 0
),
mbus4_call1 as (select r.n, ''::pg_catalog.void as drop_queue from mbus4_call1_checked r)
select (select "drop_queue" as "drop_queue" from mbus4_call1)

select mbus4.create_consumer('orders', 'big', $$(t.properties->'size')::int > 100$$)
----
with mbus4_call1_args(n, "qname", "cname", "selector", "noindex") as (
    select 1::bigint, ('orders')::pg_catalog.text, ('big')::pg_catalog.text,
        ($$(t.properties->'size')::int > 100$$)::pg_catalog.text,
        'false'::boolean
),
mbus4_call1_asked as materialized (
    select a.n, q.id as queue_id, q.paused, a.selector,
        case
            when pg_catalog.btrim(a.selector, E' \t\r\n') <> ''
                then coalesce(s.id, mbus4.no_selector('1 _session_secret_', a.selector))
        end as selector_id,
        s.headers, s.properties, s.data, a.noindex,
        coalesce(
            q.qname, pg_catalog.
            left(
                pg_catalog.format(
                    'mbus4-error 1 _session_secret_ 42704 queue %s does not exist', coalesce('"' || a.qname || '"', 'null')
                ),
                2000
            )::int::pg_catalog.text
        ) as queue,
        case
            when q.kind = 'dmq'
                then pg_catalog.left(
                    pg_catalog.format('mbus4-error 1 _session_secret_ 42809 queue "%s" has only the consumer "default"', q.qname),
                    2000
                )::int::pg_catalog.text
            when q.cname collate "C" ~ '^[a-z0-9_]{1,32}$' and q.cname not in ('dmq', 'temp') then q.cname
            else pg_catalog.left(
                pg_catalog.format(
                    'mbus4-error 1 _session_secret_ 42602 %s is not a valid name for a consumer',
                    coalesce('"' || q.cname || '"', 'null')
                ),
                2000
            )::int::pg_catalog.text
        end as cname
    from mbus4_call1_args a
    left join mbus4.selector s on s.id = ('x' || pg_catalog.left(pg_catalog.md5(pg_catalog.convert_to(a.selector, 'UTF8')), 16))::bit(
        64
    )::bigint
        and s.text = a.selector
        and s.refused is null
    left join lateral (
        select q.id, q.qname, q.kind, q.paused, x.cname
        from (values (1, a.qname, a.cname), (2, a.cname, a.qname)) x (place, qname, cname)
        cross join lateral (select * from mbus4.queue q where q.qname = pg_catalog.lower(x.qname collate "C") offset 0) q
        order by x.place
        limit 1
    ) q on true
    where case
        when pg_catalog.lower(a.qname collate "C") <> pg_catalog.lower(a.cname collate "C")
            and exists (select from mbus4.queue q where q.qname = pg_catalog.lower(a.qname collate "C") and q.kind <> 'dmq')
            and exists (select from mbus4.queue q where q.qname = pg_catalog.lower(a.cname collate "C") and q.kind <> 'dmq')
            then pg_catalog.left(
                pg_catalog.format(
                    'mbus4-error 1 _session_secret_ 42725 mbus4.create_consumer("%s", "%s") may mean either order: both are queues',
                    pg_catalog.lower(a.qname collate "C"), pg_catalog.lower(a.cname collate "C")
                ),
                2000
            )::int = 0
        else true
    end
),
mbus4_call1_created as (
    insert into mbus4.consumer (queue_id, qname, name, selector, selector_id, asks_headers, asks_properties, asks_data, paused)
    select v.queue_id, v.queue, v.cname, v.selector, v.selector_id, v.headers, v.properties, v.data, v.paused
    from mbus4_call1_asked v
    on conflict (qname, name) do nothing
    returning id, qname, name
),
mbus4_call1_checked as materialized (
    select v.n
    from mbus4_call1_asked v
    left join mbus4_call1_created c on c.qname = v.queue and c.name = v.cname
    where case
        when c.id is null
            then pg_catalog.left(
                pg_catalog.format('mbus4-error 1 _session_secret_ 42710 queue "%s" already has a consumer "%s"', v.queue, v.cname),
                2000
            )::int = 0
        when v.noindex
            then pg_catalog.to_tsquery(
                'simple',
                pg_catalog.translate(
                    (
                        'x' || pg_catalog.encode(
                            pg_catalog.convert_to(
                                'm4 1 _session_secret_ ' || '00000 create index concurrently on mbus4.message (available_at, id) where consumer_id = ' || c.id::pg_catalog.text,
                                'UTF8'
                            ),
                            'hex'
                        )
                    )::pg_catalog.varbit::pg_catalog.text,
                    '01', E' \t'
                )
            ) is not null
        else true
    end
),
mbus4_call1_enforced as (
    insert into mbus4.consumer (qname, name)
    select null, null
    from mbus4_call1_checked
    where pg_catalog.num_nulls(mbus4_call1_checked.n) > 0
),
mbus4_call1 as (select r.n, ''::pg_catalog.void as create_consumer from mbus4_call1_checked r)
select (select "create_consumer" as "create_consumer" from mbus4_call1)

select mbus4.drop_consumer('orders', 'big')
----
with mbus4_call1_args(n, "qname", "cname") as (select 1::bigint, ('orders')::pg_catalog.text, ('big')::pg_catalog.text),
mbus4_call1_asked as materialized (
    select a.n, x.qname, x.cname
    from mbus4_call1_args a
    cross join lateral (
        select x.qname, x.cname
        from (values (1, a.qname, a.cname), (2, a.cname, a.qname)) x (place, qname, cname)
        left join lateral (select q.id from mbus4.queue q where q.qname = pg_catalog.lower(x.qname collate "C") offset 0) q on true
        order by q.id is null, x.place
        limit 1
    ) x
    where case
        when pg_catalog.lower(a.qname collate "C") <> pg_catalog.lower(a.cname collate "C")
            and exists (select from mbus4.queue q where q.qname = pg_catalog.lower(a.qname collate "C") and q.kind <> 'dmq')
            and exists (select from mbus4.queue q where q.qname = pg_catalog.lower(a.cname collate "C") and q.kind <> 'dmq')
            then pg_catalog.left(
                pg_catalog.format(
                    'mbus4-error 1 _session_secret_ 42725 mbus4.drop_consumer("%s", "%s") may mean either order: both are queues',
                    pg_catalog.lower(a.qname collate "C"), pg_catalog.lower(a.cname collate "C")
                ),
                2000
            )::int = 0
        else true
    end
),
mbus4_call1_dropped as (
    delete from mbus4.consumer c using mbus4_call1_asked v
    where c.qname = pg_catalog.lower(v.qname collate "C")
        and c.name = pg_catalog.lower(v.cname collate "C")
        and case
            when c.qname = pg_catalog.lower(v.qname collate "C")
                and c.qname = 'dmq'
                then pg_catalog.left(
                    pg_catalog.format(
                        'mbus4-error 1 _session_secret_ 42809 queue "%s" belongs to the schema and keeps its consumer', c.qname
                    ),
                    2000
                )::int = 0
            else true
        end
    returning v.n
),
mbus4_call1_checked as materialized (
    select v.n
    from mbus4_call1_asked v
    where exists (select from mbus4_call1_dropped c where c.n = v.n)
        or (
            case
                when (select 1 from mbus4.queue q where q.qname = pg_catalog.lower(v.qname collate "C")) is not null
                    then pg_catalog.left(
                        pg_catalog.format(
                            'mbus4-error 1 _session_secret_ 42704 queue "%s" has no consumer %s',
                            v.qname, coalesce('"' || v.cname || '"', 'null')
                        ),
                        2000
                    )
                else pg_catalog.left(
                    pg_catalog.format(
                        'mbus4-error 1 _session_secret_ 42704 queue %s does not exist', coalesce('"' || v.qname || '"', 'null')
                    ),
                    2000
                )
            end
        )::int = 0
),
mbus4_call1_enforced as (
    insert into mbus4.consumer (qname, name)
    select null, null
    from mbus4_call1_checked
    where pg_catalog.num_nulls(mbus4_call1_checked.n) > 0
),
mbus4_call1 as (select r.n, ''::pg_catalog.void as drop_consumer from mbus4_call1_checked r)
select (select "drop_consumer" as "drop_consumer" from mbus4_call1)

select mbus4.create_trigger('orders', 'copies')
----
with mbus4_call1_args(n, "src", "dst", "selector") as (
    select 1::bigint, ('orders')::pg_catalog.text, ('copies')::pg_catalog.text, null::pg_catalog.text
),
mbus4_call1_asked as materialized (
    select a.n,
        pg_catalog.lower(a.src collate "C") as src,
        pg_catalog.lower(a.dst collate "C") as dst,
        a.selector,
        case
            when pg_catalog.btrim(a.selector, E' \t\r\n') <> ''
                then coalesce(s.id, mbus4.no_selector('1 _session_secret_', a.selector))
        end as selector_id,
        s.headers, s.properties, s.data,
        (select q.id from mbus4.queue q where q.qname = pg_catalog.lower(a.src collate "C")) as src_id,
        (select q.id from mbus4.queue q where q.qname = pg_catalog.lower(a.dst collate "C")) as dst_id,
        case
            when a.src is null
                or a.dst is null
                then pg_catalog.left(
                    pg_catalog.format(
                        'mbus4-error 1 _session_secret_ 22004 the queues of a trigger must not be null%s', a.src || a.dst
                    ),
                    2000
                )::int
            when exists (
                with recursive onward (queue) as (
                    select pg_catalog.lower(a.dst collate "C") collate "C"
                    union
                    select c.target
                    from onward o
                    join mbus4.consumer c on c.qname = o.queue and c.target is not null
                )
                select
                from onward o
                where o.queue = pg_catalog.lower(a.src collate "C")
            )
                then pg_catalog.left(
                    pg_catalog.format(
                        'mbus4-error 1 _session_secret_ 42P17 Loop detected: what is posted to "%s" would come back to it',
                        pg_catalog.lower(a.src collate "C")
                    ),
                    2000
                )::int
        end as ok
    from mbus4_call1_args a
    left join mbus4.selector s on s.id = ('x' || pg_catalog.left(pg_catalog.md5(pg_catalog.convert_to(a.selector, 'UTF8')), 16))::bit(
        64
    )::bigint
        and s.text = a.selector
        and s.refused is null
),
mbus4_call1_created as (
    insert into mbus4.consumer (queue_id, qname, name, selector, selector_id, target, asks_headers, asks_properties, asks_data)
    select v.src_id, v.src, 'TRIGGER ' || v.dst, v.selector, v.selector_id, v.dst, v.headers, v.properties, v.data
    from mbus4_call1_asked v
    where v.ok is null
    on conflict (qname, name) do nothing
    returning id, qname, target
),
mbus4_call1_checked as materialized (
    select v.n
    from mbus4_call1_asked v
    left join mbus4_call1_created c on c.qname = v.src and c.target = v.dst
    where case
        when c.id is null
            then pg_catalog.left(
                pg_catalog.format(
                    'mbus4-error 1 _session_secret_ 42710 the trigger from "%s" to "%s" exists already', v.src, v.dst
                ),
                2000
            )::int = 0
        else (
            v.src_id is not null
                or pg_catalog.to_tsquery(
                    'simple',
                    pg_catalog.translate(
                        (
                            'x' || pg_catalog.encode(
                                pg_catalog.convert_to(
                                    'm4 1 _session_secret_ ' || '01000 queue "' || v.src || '" does not exist', 'UTF8'
                                ),
                                'hex'
                            )
                        )::pg_catalog.varbit::pg_catalog.text,
                        '01', E' \t'
                    )
                ) is not null
        )
            and (
                v.dst_id is not null
                    or pg_catalog.to_tsquery(
                        'simple',
                        pg_catalog.translate(
                            (
                                'x' || pg_catalog.encode(
                                    pg_catalog.convert_to(
                                        'm4 1 _session_secret_ ' || '01000 queue "' || v.dst || '" does not exist', 'UTF8'
                                    ),
                                    'hex'
                                )
                            )::pg_catalog.varbit::pg_catalog.text,
                            '01', E' \t'
                        )
                    ) is not null
            )
    end
),
mbus4_call1_enforced as (
    insert into mbus4.consumer (qname, name)
    select null, null
    from mbus4_call1_checked
    where pg_catalog.num_nulls(mbus4_call1_checked.n) > 0
),
mbus4_call1 as (select r.n, ''::pg_catalog.void as create_trigger from mbus4_call1_checked r)
select (select "create_trigger" as "create_trigger" from mbus4_call1)

select mbus4.drop_trigger('orders', 'copies')
----
with mbus4_call1_args(n, "src", "dst") as (select 1::bigint, ('orders')::pg_catalog.text, ('copies')::pg_catalog.text),
mbus4_call1_dropped as (
    delete from mbus4.consumer c using mbus4_call1_args a
    where c.qname = pg_catalog.lower(a.src collate "C") and c.target = pg_catalog.lower(a.dst collate "C")
),
mbus4_call1 as (select a.n, ''::pg_catalog.void as drop_trigger from mbus4_call1_args a)
select (select "drop_trigger" as "drop_trigger" from mbus4_call1)

select mbus4.clear_queue_orders()
----
with mbus4_call1_args(n, "qname") as (select 1::bigint, ('orders')::pg_catalog.text),
mbus4_call1_removed as (
    delete from mbus4.message m
    where m.ctid = any(
        array(
            select x.ctid
            from mbus4.message x
            where x.expires <= (select pg_catalog.clock_timestamp())
                and x.consumer_id <> 1
                and not (
                    x.available_at > pg_catalog.clock_timestamp()
                        and x.available_at < 'infinity'
                        and mbus4.is_leased(x.available_at, x.delayed_until, x.headers)
                )
                and x.consumer_id in (
                    select c.id
                    from mbus4.consumer c
                    join mbus4_call1_args a on c.qname = pg_catalog.lower(a.qname collate "C")
                    where c.qname <> 'dmq'
                )
            for update skip locked
        )
    )
),
mbus4_call1_checked as materialized (
    select a.n
    from mbus4_call1_args a
    where (select 1 from mbus4.queue q where q.qname = pg_catalog.lower(a.qname collate "C")) is not null or pg_catalog.
    left(
        pg_catalog.format('mbus4-error 1 _session_secret_ 42704 queue %s does not exist', coalesce('"' || a.qname || '"', 'null')),
        2000
    )::int = 0
),
mbus4_call1_enforced as (
    insert into mbus4.waiting (dep, consumer_id, id)
    select null, null, null
    from mbus4_call1_checked
    where pg_catalog.num_nulls(mbus4_call1_checked.n) > 0
),
mbus4_call1 as (select r.n, ''::pg_catalog.void as clear_queue from mbus4_call1_checked r)
select (select "clear_queue" as "clear_queue_orders" from mbus4_call1)

select mbus4.purge_queue('orders', 'audit')
----
with mbus4_call1_args(n, "qname", "cname") as (select 1::bigint, ('orders')::pg_catalog.text, ('audit')::pg_catalog.text),
mbus4_call1_checked as materialized (
    select a.n, mbus4.at_purge_3016cecf('1 _session_secret_', a.qname, a.cname) as removed from mbus4_call1_args a
),
mbus4_call1_enforced as (
    insert into mbus4.waiting (dep, consumer_id, id)
    select null, null, null
    from mbus4_call1_checked
    where pg_catalog.num_nulls(mbus4_call1_checked.n) > 0
),
mbus4_call1 as (select r.n, r.removed as purge_queue from mbus4_call1_checked r)
select (select "purge_queue" as "purge_queue" from mbus4_call1);
-- where there is in the database:
create or replace function mbus4.at_purge_3016cecf(call text, qname text, cname text) returns bigint language sql volatile
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set enable_sort = off
set jit = off as $mbus4$
 with consumers as materialized (
     select c.id,
         pg_catalog.to_timestamp(
             coalesce(
                 pg_catalog.pg_sequence_last_value(
                     ('mbus4.hint_' || (coalesce(c.hint, c.id % 128::bigint))::pg_catalog.text)::pg_catalog.regclass
                 ),
                 0
             )::pg_catalog.float8 / 1000000.0::pg_catalog.float8
         ) as low
     from mbus4.consumer c
     where c.qname = pg_catalog.lower($2 collate "C")
         and c.target is null
         and ($3 is null or c.name = pg_catalog.lower($3 collate "C"))
 ),
 known as materialized (
     select case
         when exists (select from consumers) then 1
         when not exists (select from mbus4.queue q where q.qname = pg_catalog.lower($2 collate "C"))
             then pg_catalog.left(
                 pg_catalog.format('mbus4-error '||$1||' 42704 queue %s does not exist', coalesce('"' || $2 || '"', 'null')), 2000
             )::int
         when $3 is not null
             then pg_catalog.left(pg_catalog.format('mbus4-error '||$1||' 42704 queue "%s" has no consumer "%s"', $2, $3), 2000)::int
     end as one
 ),
 gone as (
     delete from mbus4.message m using (
         select x.ctid as place
         from known k
         cross join consumers c
         cross join lateral (
             select x.ctid
             from mbus4.message x
             where x.consumer_id = c.id and (x.available_at, x.id) >= (c.low, 0)
             order by x.available_at, x.id
             for update skip locked
         ) x
         where k.one = 1
         offset 0
     ) x
     where m.ctid = x.place
     returning 1
 )
 select pg_catalog.count(*)
 from gone
$mbus4$

select mbus4.schedule('report', '@daily', 'orders', 'a=>1')
----
with mbus4_call1_args(n, "name", "cron", "qname", "data", "headers", "properties", "timezone") as (
    select 1::bigint, ('report')::pg_catalog.text, ('@daily')::pg_catalog.text, ('orders')::pg_catalog.text,
        (row('a=>1')::mbus4_hstore.given).value,
        null::mbus4_hstore.hstore, null::mbus4_hstore.hstore, 'UTC'::pg_catalog.text
),
mbus4_call1_asked as materialized (
    select a.n, a.cron,
        coalesce(a.timezone, 'UTC') as timezone,
        a.data as data, a.headers as headers, a.properties,
        case
            when a.n + (select count(*) from (select from mbus4.schedule s where s.owner = current_user limit 10000) s) > 10000
                and not exists (select from mbus4.schedule s where s.name = a.name)
                then pg_catalog.left(
                    pg_catalog.format(
                        'mbus4-error 1 _session_secret_ 54000 role "%s" has 10000 schedules, and no room for more', current_user
                    ),
                    2000
                )::int::pg_catalog.text
            when (
                select not exists (
                    select from pg_catalog.pg_roles r where r.rolname = s.owner and pg_catalog.pg_has_role(r.oid, 'member')
                )
                from mbus4.schedule s
                where s.name = a.name
            )
                then pg_catalog.left(
                    (
                        select pg_catalog.format(
                            'mbus4-error 1 _session_secret_ 42501 schedule "%s" belongs to role "%s"%s',
                            s.name, s.owner,
                            case
                                when not exists (select from pg_catalog.pg_roles r where r.rolname = s.owner)
                                    then ', which is gone'
                            end
                        )
                        from mbus4.schedule s
                        where s.name = a.name
                    ),
                    2000
                )::int::pg_catalog.text
            when pg_catalog.length(a.name) between 1 and 200 then a.name
            else pg_catalog.left(
                pg_catalog.format(
                    'mbus4-error 1 _session_secret_ 22023 the name of a schedule must have 1 to 200 characters, not %s',
                    coalesce(pg_catalog.length(a.name)::pg_catalog.text, 'null')
                ),
                2000
            )::int::pg_catalog.text
        end as name,
        case
            when a.cron is null
                then pg_catalog.left(
                    pg_catalog.format(
                        'mbus4-error 1 _session_secret_ 22004 the cron text of schedule "%s" must not be null', a.name
                    ),
                    2000
                )::int::pg_catalog.text
            else coalesce(
                (select q.qname from mbus4.queue q where q.qname = pg_catalog.lower(a.qname collate "C")), pg_catalog.
                left(
                    pg_catalog.format(
                        'mbus4-error 1 _session_secret_ 42704 queue %s does not exist', coalesce('"' || a.qname || '"', 'null')
                    ),
                    2000
                )::int::pg_catalog.text
            )
        end as qname
    from mbus4_call1_args a
),
mbus4_call1_stored as (
    insert into mbus4.schedule (name, cron, timezone, qname, data, headers, properties)
    select distinct on (v.name) v.name, v.cron, v.timezone, v.qname, v.data, v.headers, v.properties
    from mbus4_call1_asked v
    order by v.name, v.n desc
    on conflict (name) do update
    set cron = excluded.cron, timezone = excluded.timezone, qname = excluded.qname, data = excluded.data,
        headers = excluded.headers, properties = excluded.properties
),
mbus4_call1 as (select v.n, ''::pg_catalog.void as schedule from mbus4_call1_asked v)
select (select "schedule" as "schedule" from mbus4_call1)

select mbus4.pause_queue('orders', 'audit')
----
with mbus4_call1_args(n, "qname", "cname") as (select 1::bigint, ('orders')::pg_catalog.text, ('audit')::pg_catalog.text),
mbus4_call1_queues as (
    update mbus4.queue q
    set paused = coalesce(q.paused, pg_catalog.clock_timestamp())
    from mbus4_call1_args a
    where a.cname is null and q.qname = pg_catalog.lower(a.qname collate "C")
),
mbus4_call1_consumers as (
    update mbus4.consumer c
    set paused = coalesce(c.paused, pg_catalog.clock_timestamp())
    from mbus4_call1_args a
    where c.qname = pg_catalog.lower(a.qname collate "C")
        and c.target is null
        and (a.cname is null or c.name = pg_catalog.lower(a.cname collate "C"))
),
mbus4_call1_checked as materialized (
    select a.n
    from mbus4_call1_args a
    where case
        when a.cname is not null
            then coalesce(
                (
                    select c.id
                    from mbus4.consumer c
                    where c.qname = pg_catalog.lower(a.qname collate "C") and c.name = pg_catalog.lower(a.cname collate "C")
                ),
                mbus4.at_no_consumer_56bdd364('1 _session_secret_', a.qname, a.cname)
            ) is not null
        when (select 1 from mbus4.queue q where q.qname = pg_catalog.lower(a.qname collate "C")) is null
            then pg_catalog.left(
                pg_catalog.format(
                    'mbus4-error 1 _session_secret_ 42704 queue %s does not exist', coalesce('"' || a.qname || '"', 'null')
                ),
                2000
            )::int = 0
        else true
    end
),
mbus4_call1_enforced as (
    insert into mbus4.consumer (qname, name)
    select null, null
    from mbus4_call1_checked
    where pg_catalog.num_nulls(mbus4_call1_checked.n) > 0
),
mbus4_call1 as (select r.n, ''::pg_catalog.void as pause_queue from mbus4_call1_checked r)
select (select "pause_queue" as "pause_queue" from mbus4_call1);
-- where there is in the database:
create or replace function mbus4.at_no_consumer_56bdd364(call text, qname text, cname text) returns int language sql volatile as $mbus4$
 select (
     case
         when exists (select from mbus4.queue q where q.qname = pg_catalog.lower($2 collate "C"))
             then pg_catalog.left(
                 pg_catalog.format(
                     'mbus4-error '||$1||' 42704 queue "%s" has no consumer %s', $2, coalesce('"' || $3 || '"', 'null')
                 ),
                 2000
             )
         else pg_catalog.left(
             pg_catalog.format('mbus4-error '||$1||' 42704 queue %s does not exist', coalesce('"' || $2 || '"', 'null')), 2000
         )
     end
 )::int
$mbus4$

# The queue's name and the consumer's can be told apart in several ways.
select * from mbus4.consume_a_by_b_by_c()
----
with mbus4_call1_args(n, "qname", "cname") as (
    select 1::bigint,
        (
            select case pg_catalog.count(*)
                when 0 then 'a'
                when 1 then pg_catalog.min(c.qname)
                else (
                    'mbus4-error 1 _session_secret_ 42725 ' || 'mbus4.consume_a_by_b_by_c is ambiguous: queue "a" with consumer "b_by_c" or queue "a_by_b" with consumer "c"' || pg_catalog.
                    left(pg_catalog.min(c.qname), 0)
                )::int::pg_catalog.text
            end
            from mbus4.consumer c
            where (c.qname, c.name) in (('a', 'b_by_c'), ('a_by_b', 'c'))
        )::pg_catalog.text,
        (
            select case pg_catalog.count(*)
                when 0 then 'b_by_c'
                when 1 then pg_catalog.min(c.name)
                else (
                    'mbus4-error 1 _session_secret_ 42725 ' || 'mbus4.consume_a_by_b_by_c is ambiguous: queue "a" with consumer "b_by_c" or queue "a_by_b" with consumer "c"' || pg_catalog.
                    left(pg_catalog.min(c.qname), 0)
                )::int::pg_catalog.text
            end
            from mbus4.consumer c
            where (c.qname, c.name) in (('a', 'b_by_c'), ('a_by_b', 'c'))
        )::pg_catalog.text
),
mbus4_call1_taken as (
    delete from mbus4.message m
    where m.ctid = any(
        array(
            select x.ctid
            from (
                select c.id >> 12 as id, c.amt, c.now,
                    pg_catalog.to_timestamp(
                        coalesce(
                            pg_catalog.pg_sequence_last_value(
                                ('mbus4.hint_' || ((c.id & 4095::bigint))::pg_catalog.text)::pg_catalog.regclass
                            ),
                            0
                        )::pg_catalog.float8 / 1000000.0::pg_catalog.float8
                    ) as low
                from (
                    select coalesce(
                        (
                            select (case when c.paused is null then c.id else -c.id end) << 12 | coalesce(
                                c.hint, c.id % 128::bigint
                            )
                            from mbus4.consumer c
                            where c.qname = pg_catalog.lower(a.qname collate "C")
                                and c.name = pg_catalog.lower(a.cname collate "C")
                        ),
                        mbus4.at_no_consumer_56bdd364('1 _session_secret_', a.qname, a.cname)
                    ) as id,
                        1 as amt, pg_catalog.clock_timestamp() as now
                    from mbus4_call1_args a
                    offset 0
                ) c
                offset 0
            ) k
            cross join lateral (
                select x.ctid
                from mbus4.message x
                where x.consumer_id = k.id
                    and (x.available_at, x.id) >= (k.low, 0)
                    and x.available_at <= k.now
                    and (
                        case
                            when x.expires <= k.now and x.consumer_id <> 1 then null
                            when x.after is not null and mbus4.awaits_delivery(x.after) then null
                            else 0
                        end
                    ) is not null
                order by x.available_at, x.id
                limit k.amt
                for update skip locked
            ) x
        )
    )
    returning m.id, m.consumer_id, m.available_at, m.added, m.delayed_until, m.expires, m.received, m.headers, m.properties,
        m.data, m.iid
),
mbus4_call1 as (
    select 1::bigint as n,
        row(
            d.id, d.added::timestamp,
            coalesce(
                d.iid,
                (select pg_catalog.lower(a.qname collate "C") from mbus4_call1_args a) || '.' || pg_catalog.current_database()::pg_catalog.text || '.' || case
                    when d.available_at < '2038-01-01Z'
                        then (pg_catalog.date_part('epoch', d.available_at) * 1000000::pg_catalog.float8)::bigint::pg_catalog.text
                    when d.available_at < '2200-01-01Z'
                        then (extract(epoch from d.available_at) * 1000000::numeric)::bigint::pg_catalog.text
                    else ''
                end || d.id::pg_catalog.text
            ) collate pg_catalog."default",
            coalesce(d.delayed_until, d.added)::timestamp,
            d.expires::timestamp, coalesce(d.received, '{}'),
            mbus4_hstore.hstore(
                pg_catalog.array_cat(
                    array[
                        'source_db',
                        pg_catalog.current_database()::pg_catalog.text,
                        'destination_queue',
                        (select pg_catalog.lower(a.qname collate "C") from mbus4_call1_args a),
                        'seenby',
                        array[pg_catalog.current_database()::pg_catalog.text]::pg_catalog.text,
                        'enqueue_time',
                        case
                            when pg_catalog.starts_with(pg_catalog.current_setting('datestyle'), 'ISO')
                                then d.added::timestamp::pg_catalog.text
                            else mbus4.time_text(d.added::timestamp)
                        end,
                        'destination',
                        (select pg_catalog.lower(a.qname collate "C") from mbus4_call1_args a)
                    ],
                    case
                        when pg_catalog.starts_with(
                            (select pg_catalog.lower(a.qname collate "C") from mbus4_call1_args a), 'temp.'
                        )
                            then array['tempq', (select pg_catalog.lower(a.qname collate "C") from mbus4_call1_args a)]
                    end
                )
            )
                operator(mbus4_hstore.||) coalesce(
                    d.headers
                        operator(mbus4_hstore.||) case
                            when d.consumer_id = 1 and mbus4_hstore.exist(d.headers, 'destination') then ''
                            else mbus4_hstore.hstore(
                                pg_catalog.array_cat(
                                    array['destination', (select pg_catalog.lower(a.qname collate "C") from mbus4_call1_args a)],
                                    case
                                        when pg_catalog.starts_with(
                                            (select pg_catalog.lower(a.qname collate "C") from mbus4_call1_args a), 'temp.'
                                        )
                                            then array[
                                                'tempq', (select pg_catalog.lower(a.qname collate "C") from mbus4_call1_args a)
                                            ]
                                    end
                                )
                            )
                        end,
                    ''
                ),
            d.properties, d.data
        )::mbus4.qt_model as consume
    from mbus4_call1_taken d
)
select *
from (select (m.r).* from (select "consume" as r from mbus4_call1) m) as "consume_a_by_b_by_c";
-- where there is in the database:
create or replace function mbus4.at_no_consumer_56bdd364(call text, qname text, cname text) returns int language sql volatile as $mbus4$
 select (
     case
         when exists (select from mbus4.queue q where q.qname = pg_catalog.lower($2 collate "C"))
             then pg_catalog.left(
                 pg_catalog.format(
                     'mbus4-error '||$1||' 42704 queue "%s" has no consumer %s', $2, coalesce('"' || $3 || '"', 'null')
                 ),
                 2000
             )
         else pg_catalog.left(
             pg_catalog.format('mbus4-error '||$1||' 42704 queue %s does not exist', coalesce('"' || $2 || '"', 'null')), 2000
         )
     end
 )::int
$mbus4$
