-- Part of post_full.sql where an iid is given: an expired message that nobody has swept yet does not keep
-- its iid.
{c}_x as (
    delete from mbus4.message m
    using {c}_w w
    where m.iid = w.given and m.consumer_id = w.consumer_id and m.expires <= w.added
    returning m.id
),
