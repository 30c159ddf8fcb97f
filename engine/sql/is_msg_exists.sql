(select exists (
    select from mbus4.message m
    join mbus4.consumer c on c.id = m.consumer_id
    where m.iid = {msgid} and (m.expires is null or m.expires > clock_timestamp())) as {name})
