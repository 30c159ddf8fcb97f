(select case
        when not exists (select from mbus4.queue q where q.name = a.qname)
            then pg_catalog.format('mbus4-error {k} 42704 queue "%s" does not exist', a.qname)::int = 0
        when a.msgid is not null then exists (
            select from mbus4.message m
            join mbus4.consumer c on c.id = m.consumer_id
            where m.iid = a.msgid and c.queue = a.qname and (m.expires is null or m.expires > pg_catalog.clock_timestamp()))
        else exists (
            select from mbus4.consumer c
            cross join lateral (
                select from mbus4.message m
                where m.consumer_id = c.id
                  and m.available_at >= (select pg_catalog.to_timestamp(coalesce(pg_catalog.pg_sequence_last_value(('mbus4.hint_' || c.id % 128)::regclass), 0) / 1000000.0))
                  and (m.expires is null or m.expires > pg_catalog.clock_timestamp())
                order by m.available_at
                limit 1
            ) m
            where c.queue = a.qname)
    end as {name}
from (select pg_catalog.lower({qname}) as qname, {msgid} as msgid) a)
