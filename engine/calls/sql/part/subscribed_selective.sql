-- Part of post.sql where it had some: what simple selectors ask for is compared here, which costs no call of a function.
case when z.choosy then pg_catalog.array_cat(z.consumers, pg_catalog.array_cat(
         (select pg_catalog.array_agg(c.id::bigint)
          from mbus4.consumer c
          where c.qname = z.queue and c.target is null and c.selector_id is not null and not c.general
            and {{template "asked" .With "Row" "z"}}),
         case when z.general then mbus4.general_consumers(z.queue, false, {{template "target" .With "Row" "z" "Headers" "null"}}) end))
     else z.consumers end as consumers,
case when z.routed then mbus4.forward(z.queue, {{template "target" .With "Row" "z" "Headers" "null"}}, null, z.delayed_until, z.expires, null) end as copies
