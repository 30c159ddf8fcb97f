(select case
        when not exists (select from mbus4.queue q where q.name = a.qname)
            then pg_catalog.format('mbus4-error {k} 42704 queue "%s" does not exist', a.qname)::int = 0
        when a.msgid is not null then exists (
            select from mbus4.undelivered(a.msgid) m
            join mbus4.consumer c on c.id = m.consumer_id
            where c.queue = a.qname)
        else exists (
            select from mbus4.consumer c
            cross join lateral (
                select from mbus4.message m
                where m.consumer_id = c.id and m.available_at >= (select {hint:c.id}) and {unexpired:m}
                order by m.available_at
                limit 1
            ) m
            where c.queue = a.qname)
    end as {name}
from (select pg_catalog.lower({qname}) as qname, {msgid} as msgid) a)
