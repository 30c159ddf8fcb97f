-- The id of the row of a selector, null where there is no selector, or an error where it has none. Selector: the selector,
-- Row: the row found by selector_row.sql.
case when pg_catalog.btrim({{.Selector}}, E' \t\r\n') <> '' then coalesce({{.Row}}.id, mbus4.no_selector('{{.Mark}}', {{.Selector}})) end
