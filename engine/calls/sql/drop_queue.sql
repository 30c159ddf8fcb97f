-- The condition on the kind names the argument, too, so that no other queue's row meets it before the join.
-- The consumers go with the queue, and so do its triggers and those that feed it; the messages become
-- unreachable at once and the sweeper removes them.
{{.Call}}_dropped as (
    delete from mbus4.queue q
    using {{.Call}}_args a
    where q.qname = pg_catalog.lower(a.qname collate "C")
      and case when q.qname = pg_catalog.lower(a.qname collate "C") and q.qname in ('dmq', 'semaphore_events')
               then pg_catalog.left(pg_catalog.format('mbus4-error {{.MarkOf "a"}} 42809 queue "%s" belongs to the schema and cannot be dropped', q.qname), 2000)::int = 0
               else true end
    returning a.n, q.qname
),
{{.Call}}_triggers as (
    delete from mbus4.consumer c
    using {{.Call}}_dropped q
    where c.target = q.qname or c.target is not null and c.qname = q.qname and c.queue_id is null
),
{{.Call}}_keys as (
    delete from mbus4.unique_post u using {{.Call}}_dropped q where u.queue = q.qname
),
{{.Call}}_checked as materialized (
    select a.n
    from {{.Call}}_args a
    where exists (select from {{.Call}}_dropped q where q.n = a.n)
       or pg_catalog.left(pg_catalog.format('mbus4-error {{.MarkOf "a"}} 42704 queue %s does not exist', coalesce('"' || a.qname || '"', 'null')), 2000)::int = 0
),
{{.Call}}_enforced as (
    insert into mbus4.consumer (qname, name) select null, null from {{template "done" .}}
),
{{.Call}} as (
    select r.n, ''::pg_catalog.void as drop_queue from {{.Call}}_checked r
)
