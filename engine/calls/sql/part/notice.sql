-- How an expression raises a NOTICE, or, with an SQLSTATE of class 01, a WARNING; it is true. Text: SQLSTATE
-- and message. See rewrite.EditReport.
pg_catalog.to_tsquery('simple', pg_catalog.translate(('x' || pg_catalog.encode(pg_catalog.convert_to('m4 {{.Mark}} ' || {{.Text}}, 'UTF8'), 'hex'))::pg_catalog.varbit::pg_catalog.text, '01', E' \t')) is not null
