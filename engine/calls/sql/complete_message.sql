-- A message that is not there is complete already. Which ones is one array: a join that was planned when the table was empty reads all of it.
{{.Call}}_completed as (
    delete from mbus4.work_queue w where w.id = any(array(select a.message_id from {{.Call}}_args a))
),
{{.Call}} as (
    select a.n, ''::pg_catalog.void as complete_message from {{.Call}}_args a
)
