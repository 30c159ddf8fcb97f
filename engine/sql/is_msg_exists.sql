(select exists (
    select from mbus4.message m
    join mbus4.consumer c on c.id = m.consumer_id
    where m.iid = a.msgid and (m.expires is null or m.expires > pg_catalog.clock_timestamp())) as {name}
from (select {msgid} as msgid) a)
