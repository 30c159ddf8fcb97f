-- Removes what nobody will get: expired messages. What a dropped consumer left behind belongs to no
-- queue any more and is the sweeper's. dmq keeps everything.
{c}_d as (
    delete from mbus4.message m
    using mbus4.consumer c, {c}_a a
    where c.queue = pg_catalog.lower(a.qname) and c.queue <> 'dmq'
      and m.consumer_id = c.id and m.expires <= pg_catalog.clock_timestamp()
),
{c} as (
    select a.n, ''::void as clear_queue
    from {c}_a a
    where exists (select from mbus4.queue q where q.name = pg_catalog.lower(a.qname))
       or pg_catalog.format('mbus4-error {k} 42704 queue %s does not exist', coalesce('"' || a.qname || '"', 'null'))::int = 0
)
