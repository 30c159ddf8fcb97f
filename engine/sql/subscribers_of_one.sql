-- Part of post.sql where one message is posted.
left join lateral (
    {subscribers:c.queue = z.queue}
    group by c.queue
) r on true
