-- Part of post.sql where many messages are posted, mostly to the same queue: each queue is looked up once.
{c}_r as materialized (
    {subscribers:c.queue = any(array(select pg_catalog.lower(a.qname) from {c}_a a group by 1))}
    group by c.queue
),
