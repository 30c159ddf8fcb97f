-- The address of the first message that may be delivered and that nobody else holds, locked, as an array, or null: of those
-- whose addresses the query Tids gives, if the consumer of the WITH query _consumer has them still.
(
    select array[x.ctid]
    from mbus4.message x
    where x.ctid = any(({{.Tids}})::pg_catalog.tid[]) and x.consumer_id is not distinct from (select k.id from {{.Call}}_consumer k) and {{template "deliverable" .With "Row" "x" "Now" (print "(select k.now from " .Call "_consumer k)")}}
    order by x.available_at, x.id
    limit 1
    for update skip locked
)
