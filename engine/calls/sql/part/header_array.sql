-- A header that must be an array, or the error that it is none: the server's own does not name the header. Header: its name,
-- Headers: all of them, Row: the row, whose n says which call it is.
case when {{.Headers}} operator({{.Hstore}}.->) '{{.Header}}'::pg_catalog.text operator(pg_catalog.!~) '^[[:space:]]*[[{]'
     then pg_catalog.left(pg_catalog.format('mbus4-error {{.MarkOf .Row}} 22P02 the header {{.Header}} is not an array: %s', {{.Headers}} operator({{.Hstore}}.->) '{{.Header}}'::pg_catalog.text), 2000)::int::pg_catalog.text::pg_catalog.text[]
     else ({{.Headers}} operator({{.Hstore}}.->) '{{.Header}}'::pg_catalog.text)::pg_catalog.text[] end
