-- The ids are drawn beforehand, so that each row of the arguments gets its own.
{{.Call}}_drawn as materialized (
    select a.n, pg_catalog.nextval('mbus4.work_queue_id_seq') as id, a.payload from {{.Call}}_args a
),
{{.Call}}_stored as (
    insert into mbus4.work_queue (id, payload) select v.id, v.payload from {{.Call}}_drawn v
),
{{.Call}} as (
    select v.n, v.id as add_message from {{.Call}}_drawn v
)
