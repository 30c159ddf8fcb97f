mbus4.new_temporary_consumer({{.Arg "qname"}}, {{.Arg "selector"}}, {{.Number}})
