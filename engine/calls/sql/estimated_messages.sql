(select mbus4.estimated_messages_of({{.Arg "qname"}}, {{.Number}}) as {{.Called}})
