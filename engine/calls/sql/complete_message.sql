-- A message that is not there is complete already.
{{.Call}}_completed as (
    delete from mbus4.work_queue w using {{.Call}}_args a where w.id = a.message_id
),
{{.Call}} as (
    select a.n, ''::void as complete_message from {{.Call}}_args a
)
