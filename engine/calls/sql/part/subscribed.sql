-- Part of post.sql where the database had no selectors when the statement was made.
case when z.choosy or z.routed
     then mbus4.subscribers_late(z.consumers, z.queue, z.id, z.added, z.iid, z.delayed_until, z.expires, z.properties, z.data)
     else z.consumers end as consumers
