(select mbus4.estimated_messages_of({qname}, {k}) as {name})
