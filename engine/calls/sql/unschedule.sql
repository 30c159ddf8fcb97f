-- Whose schedule it is a trigger asks: see the step that makes the table.
{{.Call}}_dropped as (
    delete from mbus4.schedule s using {{.Call}}_args a where s.name = a.name returning a.n
),
{{.Call}} as (
    select a.n, exists (select from {{.Call}}_dropped d where d.n = a.n) as unschedule from {{.Call}}_args a
)
