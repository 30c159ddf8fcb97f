-- The views of legacy tables are for reading. Without this, who may change mbus4.consumer or mbus4.message could delete a trigger or a
-- dead message through them and not know it. A view with OFFSET is not updatable.

create or replace view mbus4.trigger as
select c.qname as src, c.target as dst, c.selector
from mbus4.consumer c
where c.target is not null
offset 0;

-- It begins at the hint of consumer 1, as consuming does.
create or replace view mbus4.dmq as
select m.id, m.added::timestamp as added, mbus4.iid_of(m.iid, 'dmq', m.available_at, m.id) as iid,
       coalesce(m.delayed_until, m.added)::timestamp as delayed_until, m.expires::timestamp as expires,
       coalesce(m.received, '{}') as received, mbus4.headers_of('dmq', m.added, m.headers) as headers, m.properties, m.data
from mbus4.message m
where m.consumer_id = (select c.id from mbus4.consumer c where c.qname = 'dmq' and c.name = 'default')
  and m.available_at >= (select to_timestamp(coalesce(pg_sequence_last_value('mbus4.hint_1'::regclass), 0) / 1000000.0))
offset 0;
