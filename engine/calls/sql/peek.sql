(select (
    select {{template "message" .With "Row" "m" "Queue" "c.qname"}}
    from mbus4.undelivered(a.msgid) m
    join mbus4.consumer c on c.id = m.consumer_id
    order by m.id, m.consumer_id
    limit 1) as {{.Called}}
from (select {{.Arg "msgid"}} as msgid) a)
