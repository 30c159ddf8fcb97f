-- The WITH query in which the rows of a bulk post find their queues' subscribers, as a text. Messages may go to many queues, mostly to
-- the same: each queue is looked up once.
{{.Call}}_subscribers as materialized (
    select {{.Hstore}}.hstore(pg_catalog.array_agg(q.queue), pg_catalog.array_agg({{template "subscribers" .With "Queue" "q.queue"}}::text)) as consumers
    from (select pg_catalog.lower(a.qname collate "C") as queue from {{.Call}}_args a where a.qname is not null group by 1) q
),
