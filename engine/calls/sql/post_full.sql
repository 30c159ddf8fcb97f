-- As post.sql, for calls that give headers or an iid.
-- A consumer that has an undelivered message under the iid gets no second one, and where all have one
-- the post fails. One in dmq keeps its headers, seenby among them; the header Redeploy keeps it from being copied along triggers.
-- A message that must wait for another is parked (see schema/baseline/04_ordering.sql); its
-- iid is stored, for its place changes.
{{.Call}}_posted as materialized (
    select y.*, y.queue <> 'dmq' and y.wanted is not null and mbus4.any_undelivered(y.wanted) as parked,
           case when y.queue <> 'dmq' and pg_catalog.cardinality(y.wanted) > 0 then y.wanted end as after
    from (
        select x.*,
               coalesce(x.given, case when x.at >= '2200-01-01Z' or pg_catalog.cardinality(x.wanted) > 0
                                      then x.queue || '.' || pg_catalog.current_database() || '.' || x.id
                                      else {{template "iid" .With "Queue" "x.queue" "At" "x.at" "ID" "x.id"}} end) as iid,
               x.given is not null or x.at >= '2200-01-01Z' or coalesce(pg_catalog.cardinality(x.wanted), 0) > 0 as stored
        from (
            select v.*, {{template "available" .With "Row" "v"}} as at
            from (
                select w.*, pg_catalog.clock_timestamp() as added,
                       case when w.caller operator({{.Hstore}}.->) 'seenby'::text is null then w.caller operator({{.Hstore}}.-) 'seenby'::text
                            when w.queue = 'dmq' then w.caller
                            else w.caller operator({{.Hstore}}.||) {{.Hstore}}.hstore('seenby'::text,
                                pg_catalog.array_append({{template "header_array" .With "Row" "w" "Headers" "w.caller" "Header" "seenby"}}, pg_catalog.current_database()::text)::text)
                       end as headers
                from (
                    select a.n, pg_catalog.nextval('mbus4.message_id') as id,
                           case when exists (select from mbus4.queue q where q.qname = pg_catalog.lower(a.qname collate "C"))
                                     or {{template "temporary" .With "Args" "a" "Queue" `pg_catalog.lower(a.qname collate "C")`}} then pg_catalog.lower(a.qname collate "C")
                                else {{template "no_queue" .With "Args" "a" "Queue" `pg_catalog.lower(a.qname collate "C")`}}::text
                           end as queue,
                           a.iid as given,
                           a.delayed_until::timestamptz as delayed_until, a.expires::timestamptz as expires, a.headers as caller,
                           {{template "header_array" .With "Row" "a" "Headers" "a.headers" "Header" "consume_after"}} as wanted,
                           (a.headers operator({{.Hstore}}.->) 'Redeploy'::text)::boolean as redeployed, a.properties, a.data
                    from {{.Call}}_args a
                    offset 0
                ) w
                offset 0
            ) v
            offset 0
        ) x
        offset 0
    ) y
),
{{.Call}}_subscribed as materialized (
    select p.*, r.consumer_id, r.target,
           r.consumer_id is not null and p.given is not null and (
               select 1
               from mbus4.place_of_iid(p.given) i
               join mbus4.message o on o.consumer_id = r.consumer_id and o.available_at = i.available_at and o.id = i.id
               where i.queue = p.queue and o.iid is null
               for key share of o) is not null as held,
           case when r.target is not null then mbus4.forward(p.queue, {{template "target" .With "Row" "p" "Headers" "p.headers"}}, p.headers, p.delayed_until, p.expires, p.after) end as copies
    from {{.Call}}_posted p
    left join lateral (
        select c.id as consumer_id, null as target
        from (
            select case when exists (select from mbus4.consumer c where c.qname = p.queue and c.target is null and c.selector_id is not null)
                        then mbus4.selecting_consumers(p.queue, false, {{template "target" .With "Row" "p" "Headers" "p.headers"}}) end as selecting
            offset 0
        ) s
        join mbus4.consumer c on c.qname = p.queue and c.target is null and (c.selector_id is null or c.id = any(s.selecting))
        union all
        (select null, c.target from mbus4.consumer c where c.qname = p.queue and c.target is not null and p.redeployed is not true limit 1)
    ) r on true
),
{{if .GivesIID}}
-- An expired message that nobody has swept yet does not keep its iid.
{{.Call}}_expired as (
    delete from mbus4.message m
    using {{.Call}}_subscribed w
    where m.iid = w.given and m.consumer_id = w.consumer_id and m.expires <= w.added and m.consumer_id <> 1
    returning m.id
),
{{end}}
{{.Call}}_stored as (
    insert into mbus4.message (id, consumer_id, available_at, added, iid, delayed_until, expires, headers, properties, data, after)
    select w.id, w.consumer_id, case when w.parked then 'infinity' else w.at end, w.added, case when w.stored then w.iid end,
           w.delayed_until, w.expires, w.headers, w.properties, w.data, w.after
    from {{.Call}}_subscribed w
    where w.consumer_id is not null and not w.held
      {{if .GivesIID}}and (select pg_catalog.count(*) from {{.Call}}_expired) >= 0{{end}}
    on conflict (iid, consumer_id) where iid is not null do nothing
    returning id, consumer_id
),
{{.Call}}_checked as materialized (
    select w.n,
           case when pg_catalog.count(w.consumer_id) = 0 or pg_catalog.count(m.id) > 0 then pg_catalog.min(w.iid)
                else pg_catalog.format('mbus4-error {{.MarkOf "w"}} 23505 a message with iid "%s" is still waiting in queue "%s"', pg_catalog.min(w.iid), pg_catalog.min(w.queue))::int::text
           end as post
    from {{.Call}}_subscribed w
    left join (select distinct id from {{.Call}}_stored) m on m.id = w.id
    group by w.n
),
{{.Call}}_waiting as (
    insert into mbus4.waiting (dep, consumer_id, id)
    select distinct dep, m.consumer_id, m.id
    from {{.Call}}_stored m
    join {{.Call}}_subscribed w on w.id = m.id and w.consumer_id = m.consumer_id and w.parked
    cross join pg_catalog.unnest(w.after) dep
    where dep is not null
    union all
    select null, null, null from {{template "done" .}}
),
{{.Call}} as (
    select r.n, r.post from {{.Call}}_checked r
)
