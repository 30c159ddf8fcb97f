-- The ids are drawn beforehand, so that each row of the arguments gets its own.
{c}_v as materialized (
    select a.n, pg_catalog.nextval('mbus4.work_queue_id_seq') as id, a.payload from {c}_a a
),
{c}_m as (
    insert into mbus4.work_queue (id, payload) select v.id, v.payload from {c}_v v
),
{c} as (
    select v.n, v.id as add_message from {c}_v v
)
