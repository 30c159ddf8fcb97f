(select case
        when not exists (select from mbus4.queue q where q.qname = a.qname)
            then pg_catalog.left(pg_catalog.format('mbus4-error {{.Mark}} 42704 queue "%s" does not exist', a.qname), 2000)::int = 0
        when a.msgid is not null then exists (
            select from mbus4.undelivered(a.msgid) m
            join mbus4.consumer c on c.id = m.consumer_id
            where c.qname = a.qname)
        else exists (
            select from mbus4.consumer c
            cross join lateral (
                select from mbus4.message m
                where m.consumer_id = c.id and m.available_at >= (select {{template "hint" .With "Number" "coalesce(c.hint, c.id % 128::bigint)"}}) and {{template "unexpired" .With "Row" "m"}}
                order by m.available_at
                limit 1
            ) m
            where c.qname = a.qname)
    end as {{.Called}}
from (select pg_catalog.lower({{.Arg "qname"}} collate "C") as qname, {{.Arg "msgid"}} as msgid) a)
