-- Part of post.sql where messages may go to many queues, mostly to the same: each queue is looked up once.
{c}_r as materialized (
    select c.queue, {subscribers:}
    from mbus4.consumer c
    where c.queue = any(array(select pg_catalog.lower(a.qname) from {c}_a a group by 1))
    group by c.queue
),
