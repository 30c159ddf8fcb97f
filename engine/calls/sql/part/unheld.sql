-- That no transaction that was under way holds a message; see whole/look.sql. Row: a row of mbus4.message, Snapshot: a row with the snapshot and its end, next.
case
    when {{.Row}}.xmax::pg_catalog.text::bigint = 0 then true
    when {{.Row}}.xmax::pg_catalog.text::bigint >= ({{.Snapshot}}.next & 4294967295) then pg_catalog.age({{.Row}}.xmax) <= 0
    else pg_catalog.pg_visible_in_snapshot(({{.Snapshot}}.next - ({{.Snapshot}}.next & 4294967295) + {{.Row}}.xmax::pg_catalog.text::bigint)::pg_catalog.text::pg_catalog.xid8, {{.Snapshot}}.snapshot)
end
