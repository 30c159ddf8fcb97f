-- Part of post.sql where many messages are posted, mostly to the same queue: each queue is looked up once. It is
-- joined row by row: copies along triggers are made in the order of the rows.
{c}_r as materialized (
    {subscribers:c.queue = any(array(select pg_catalog.lower(a.qname) from {c}_a a group by 1))}
    group by c.queue
),
