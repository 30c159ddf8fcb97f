-- Removes what nobody will get: expired messages. What a dropped consumer left behind belongs to no
-- queue any more and is the sweeper's. dmq keeps everything.
{{.Call}}_removed as (
    delete from mbus4.message m
    where m.ctid = any(array(
        select x.ctid
        from mbus4.message x
        where x.expires <= (select pg_catalog.clock_timestamp()) and x.consumer_id <> 1 and {{template "unleased" .With "Row" "x"}}
          and x.consumer_id in (select c.id from mbus4.consumer c join {{.Call}}_args a on c.qname = pg_catalog.lower(a.qname collate "C") where c.qname <> 'dmq')
        for update skip locked))
),
{{.Call}}_checked as materialized (
    select a.n
    from {{.Call}}_args a
    where (select 1 from mbus4.queue q where q.qname = pg_catalog.lower(a.qname collate "C")) is not null
       or pg_catalog.left(pg_catalog.format('mbus4-error {{.MarkOf "a"}} 42704 queue %s does not exist', coalesce('"' || a.qname || '"', 'null')), 2000)::int = 0
),
{{.Call}}_enforced as (
    insert into mbus4.waiting (dep, consumer_id, id) select null, null, null from {{template "done" .}}
),
{{.Call}} as (
    select r.n, ''::pg_catalog.void as clear_queue from {{.Call}}_checked r
)
