-- Moves a message that is there to dmq: its attempts are used up, or who has a lease on it gives it up. False where it is not there, or somebody else
-- holds it. error is null where none is known. call is the call's mark.
create or replace function {{.Signature}} returns boolean language sql volatile
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $mbus4$
    with gone as (
        delete from mbus4.message m
        using (select c.qname, c.name, x.ctid as place
               from mbus4.consumer c
               cross join lateral (
                   select x.ctid from mbus4.message x where x.consumer_id = c.id and x.available_at = $3 and x.id = $4 for update skip locked
               ) x
               where c.id = $2
               offset 0) c
        where m.ctid = c.place
        returning c.name, m.headers operator({{.Hstore}}.->) 'retry.error'::pg_catalog.text as error, row({{template "message_columns" .With "Row" "m" "Queue" "c.qname"}})::mbus4.qt_model as message
    ), buried as materialized (
        select {{.Bury}}($1, g.message, g.name, coalesce($5, g.error, 'lease ended')) from gone g
    )
    select (select pg_catalog.count(*) from buried) > 0
$mbus4$
