-- Whether the consumer c selects the message. $1: the row, $2: its headers as stored.
mbus4.selects_late(c.selector_id, {target:$1;$2})
