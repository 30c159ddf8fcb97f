-- Part of post.sql where it had some: with them in sight of the planner they cost no call of a function.
case when z.choosy then pg_catalog.array_cat(z.consumers, (
         select pg_catalog.array_agg(c.id)
         from mbus4.consumer c
         {selective:z;null::{hstore}.hstore}
         where c.queue = z.queue and c.target is null and c.selector_id is not null and {selects:z;null::{hstore}.hstore}))
     else z.consumers end as consumers,
case when z.routed then mbus4.forward(z.queue, {target:z;null::{hstore}.hstore}, z.delayed_until, z.expires, null) end as copies
