-- The error that a schedule is another role's.
pg_catalog.left((select pg_catalog.format('mbus4-error {{.MarkOf .Row}} 42501 schedule "%s" belongs to role "%s"%s', s.name, s.owner,
    case when not exists (select from pg_catalog.pg_roles r where r.rolname = s.owner) then ', which is gone' end) from mbus4.schedule s where s.name = {{.Row}}.name), 2000)::int
