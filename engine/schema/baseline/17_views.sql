-- What legacy code reads as tables of the original bus. Reading is all: with OFFSET a view is not updatable, and who may change mbus4.consumer or mbus4.message
-- could delete a trigger or a dead message through them and not know it.

create view mbus4.trigger as
select c.qname as src, c.target as dst, c.selector
from mbus4.consumer c
where c.target is not null
offset 0;

-- Reading it consumes nothing. It begins at the consumer's hint, as consuming does.
create view mbus4.dmq as
select m.id, m.added::timestamp as added, mbus4.iid_of(m.iid, 'dmq', m.available_at, m.id) as iid,
       coalesce(m.delayed_until, m.added)::timestamp as delayed_until, m.expires::timestamp as expires,
       coalesce(m.received, '{}') as received, mbus4.headers_of('dmq', m.added, m.headers) as headers, m.properties, m.data
from mbus4.message m
where m.consumer_id = (select c.id from mbus4.consumer c where c.qname = 'dmq' and c.name = 'default')
  and m.available_at >= (select to_timestamp(coalesce(pg_sequence_last_value(('mbus4.hint_' || (select coalesce(c.hint, 1)::pg_catalog.text from mbus4.consumer c where c.id = 1))::pg_catalog.regclass), 0)::pg_catalog.float8 / 1000000.0::pg_catalog.float8))
offset 0;

-- A rule that turns an insert into a view into a post must insert something, so that the client is told
-- how many rows it inserted. The Sweeper throws it away.
create unlogged table mbus4.view_insert (iid text) with (
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 1000,
    autovacuum_vacuum_cost_delay = 0
);
