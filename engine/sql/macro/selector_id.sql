-- The id of a selector's function, null where there is no selector, or an error where it was never
-- checked: calls the proxy does not see. $1: the selector.
case when pg_catalog.btrim($1, E' \t\r\n') <> '' then (
    select case when pg_catalog.to_regprocedure('mbus4.selector_' || pg_catalog.to_hex(h.id) || '(mbus4.qt_model)') is not null then h.id
                else pg_catalog.format('mbus4-error {k} 0A000 the selector %s was not checked; give it as a literal or as a parameter of the statement', $1)::int end
    from (select ('x' || pg_catalog.left(pg_catalog.md5(pg_catalog.convert_to($1, 'UTF8')), 16))::bit(64)::bigint as id) h)
end
