-- The id of the row of a selector, null where there is no selector, or an error where it has none. $1: the selector,
-- $2: the row found by the macro selector_row.
case when pg_catalog.btrim($1, E' \t\r\n') <> '' then coalesce($2.id, mbus4.no_selector('{k}', $1)) end
