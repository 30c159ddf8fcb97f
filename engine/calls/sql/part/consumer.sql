-- The id of the consumer that a call names, or its error. Args: the arguments, ID: the id of the consumer found, if any.
coalesce({{.ID}}, {{.NoConsumer}}('{{.MarkOf .Args}}', {{.Args}}.qname, {{.Args}}.cname))
