-- Part of post.sql where all messages go to one queue, {queue}: it is looked up once.
left join lateral (
    select {subscribers:} from mbus4.consumer c where c.queue = pg_catalog.lower({queue})
) r on true
