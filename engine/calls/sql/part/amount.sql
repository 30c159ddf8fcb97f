-- How many messages a call of consumen wants, or its error; null: all there are. Args: the arguments.
case when {{.Args}}.amt < 0 then pg_catalog.left(pg_catalog.format('mbus4-error {{.MarkOf .Args}} 2201W the number of messages must not be negative, but it is %s', {{.Args}}.amt), 2000)::int
     else {{.Args}}.amt end
