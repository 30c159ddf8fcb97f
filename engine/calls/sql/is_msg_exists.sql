-- An EXISTS of mbus4.undelivered alone makes Postgres 17 read the whole table where it has no statistics: it takes
-- the row for one soon found. In a join it does not.
(select exists (select from pg_catalog.unnest(array[a.msgid]) i (iid) cross join lateral mbus4.undelivered(i.iid)) as {{.Called}}
from (select {{.Arg "msgid"}} as msgid) a)
