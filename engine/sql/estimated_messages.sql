(mbus4.estimated_messages_of({qname}, {k}))
