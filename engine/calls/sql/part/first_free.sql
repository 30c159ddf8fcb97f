-- The address of the first message that may be delivered and that nobody else holds, locked, as an array: of those
-- whose addresses the query $1 gives, if {c}_k's consumer has them still.
array(
    select x.ctid
    from mbus4.message x
    where x.ctid = any(($1)::tid[]) and x.consumer_id is not distinct from (select k.id from {c}_k k) and {deliverable:x;(select k.now from {c}_k k)}
    order by x.available_at, x.id
    limit 1
    for update skip locked
)
