-- Joins the row of a selector as s, if there is one. By its text, too, for two may have one id. Selector: the selector.
left join mbus4.selector s on s.id = ('x' || pg_catalog.left(pg_catalog.md5(pg_catalog.convert_to({{.Selector}}, 'UTF8')), 16))::bit(64)::bigint
    and s.text = {{.Selector}} and s.refused is null
