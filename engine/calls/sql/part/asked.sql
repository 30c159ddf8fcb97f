-- That a message holds what the simple selector of the consumer c asks for. $1: the row, $2: its headers.
(c.asks_properties is null or $1.properties operator({hstore}.@>) c.asks_properties)
and (c.asks_data is null or $1.data operator({hstore}.@>) c.asks_data)
and (c.asks_headers is null or ($2) operator({hstore}.@>) c.asks_headers)
