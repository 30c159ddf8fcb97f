-- Where selectors are known: the message as one value, for only then is mbus4.selects inlined. $1: the
-- row, $2: its headers as stored.
cross join lateral (select {target:$1;$2} as t offset 0) s
