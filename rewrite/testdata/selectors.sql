# literals in every notation
select mbus4.create_consumer('q', 'c', '(t.data->''a'')=''1''')
----
with mbus4_call1_args(n, "qname", "cname", "selector", "noindex") as (select 1::bigint, ('q')::pg_catalog.text, ('c')::pg_catalog.text, ('(t.data->''a'')=''1''')::pg_catalog.text, 'false'::boolean), mbus4_call1 as (select * from served) select (select "create_consumer" as "create_consumer" from mbus4_call1)
selector "(t.data->'a')='1'" at 39

select mbus4.create_consumer('q', 'c', p_selector => E't.iid=\'a\nb\'')
----
with mbus4_call1_args(n, "qname", "cname", "selector", "noindex") as (select 1::bigint, ('q')::pg_catalog.text, ('c')::pg_catalog.text, (E't.iid=\'a\nb\'')::pg_catalog.text, 'false'::boolean), mbus4_call1 as (select * from served) select (select "create_consumer" as "create_consumer" from mbus4_call1)
selector "t.iid='a\nb'" at 53

select mbus4.create_consumer('q', 'c', $$t.iid='x'$$), mbus4.create_consumer('q', 'd', $s$t.iid=$$x$$$s$, true)
----
with mbus4_call1_args(n, "qname", "cname", "selector", "noindex") as (select 1::bigint, ('q')::pg_catalog.text, ('c')::pg_catalog.text, ($$t.iid='x'$$)::pg_catalog.text, 'false'::boolean), mbus4_call1 as (select * from served), mbus4_call2_args(n, "qname", "cname", "selector", "noindex") as (select 1::bigint, ('q')::pg_catalog.text, ('d')::pg_catalog.text, ($s$t.iid=$$x$$$s$)::pg_catalog.text, (true)::boolean), mbus4_call2 as (select * from served) select (select "create_consumer" as "create_consumer" from mbus4_call1), (select "create_consumer" as "create_consumer" from mbus4_call2)
selector "t.iid='x'" at 39
selector "t.iid=$$x$$" at 87

select mbus4.create_consumer('q', 'c', U&'t.iid=''\0441''')
----
with mbus4_call1_args(n, "qname", "cname", "selector", "noindex") as (select 1::bigint, ('q')::pg_catalog.text, ('c')::pg_catalog.text, (U&'t.iid=''\0441''')::pg_catalog.text, 'false'::boolean), mbus4_call1 as (select * from served) select (select "create_consumer" as "create_consumer" from mbus4_call1)
selector "t.iid='с'" at 39

select mbus4.create_consumer('q', 'c', 't.iid='
  '''a''')
----
with mbus4_call1_args(n, "qname", "cname", "selector", "noindex") as (select 1::bigint, ('q')::pg_catalog.text, ('c')::pg_catalog.text, ('t.iid='
  '''a''')::pg_catalog.text, 'false'::boolean), mbus4_call1 as (select * from served) select (select "create_consumer" as "create_consumer" from mbus4_call1)
selector "t.iid='a'" at 39

# casts that change nothing
select mbus4.create_consumer('q', 'c', '1=1'::text), mbus4.create_consumer('q', 'c', cast('2=2' as varchar)), mbus4.create_consumer('q', 'c', text '3=3'::character varying)
----
with mbus4_call1_args(n, "qname", "cname", "selector", "noindex") as (select 1::bigint, ('q')::pg_catalog.text, ('c')::pg_catalog.text, ('1=1'::text)::pg_catalog.text, 'false'::boolean), mbus4_call1 as (select * from served), mbus4_call2_args(n, "qname", "cname", "selector", "noindex") as (select 1::bigint, ('q')::pg_catalog.text, ('c')::pg_catalog.text, (cast('2=2' as varchar))::pg_catalog.text, 'false'::boolean), mbus4_call2 as (select * from served), mbus4_call3_args(n, "qname", "cname", "selector", "noindex") as (select 1::bigint, ('q')::pg_catalog.text, ('c')::pg_catalog.text, (text '3=3'::character varying)::pg_catalog.text, 'false'::boolean), mbus4_call3 as (select * from served) select (select "create_consumer" as "create_consumer" from mbus4_call1), (select "create_consumer" as "create_consumer" from mbus4_call2), (select "create_consumer" as "create_consumer" from mbus4_call3)
selector "1=1" at 39
selector "2=2" at 85
selector "3=3" at 142

# bind parameters
select mbus4.create_consumer($1, $2, $3), mbus4.create_trigger($1, $2, selector => $4::text), mbus4.create_temporary_consumer($1, cast($5 as pg_catalog.text))
----
with mbus4_call1_args(n, "qname", "cname", "selector", "noindex") as (select 1::bigint, ($1)::pg_catalog.text, ($2)::pg_catalog.text, ($3)::pg_catalog.text, 'false'::boolean), mbus4_call1 as (select * from served), mbus4_call2_args(n, "src", "dst", "selector") as (select 1::bigint, ($1)::pg_catalog.text, ($2)::pg_catalog.text, ($4::text)::pg_catalog.text), mbus4_call2 as (select * from served) select (select "create_consumer" as "create_consumer" from mbus4_call1), (select "create_trigger" as "create_trigger" from mbus4_call2), native_create_temporary_consumer(($1)::pg_catalog.text, (cast($5 as pg_catalog.text))::pg_catalog.text) as "create_temporary_consumer"
selector $3 at 37
selector $4 at 83
selector $5 at 130

# none
select mbus4.create_consumer('q', 'c'), mbus4.create_consumer('q', 'c', null), mbus4.create_trigger('a', 'b', cast(null as varchar(3))), mbus4.create_temporary_consumer('q', null::text)
----
with mbus4_call1_args(n, "qname", "cname", "selector", "noindex") as (select 1::bigint, ('q')::pg_catalog.text, ('c')::pg_catalog.text, null::pg_catalog.text, 'false'::boolean), mbus4_call1 as (select * from served), mbus4_call2_args(n, "qname", "cname", "selector", "noindex") as (select 1::bigint, ('q')::pg_catalog.text, ('c')::pg_catalog.text, (null)::pg_catalog.text, 'false'::boolean), mbus4_call2 as (select * from served), mbus4_call3_args(n, "src", "dst", "selector") as (select 1::bigint, ('a')::pg_catalog.text, ('b')::pg_catalog.text, (cast(null as varchar(3)))::pg_catalog.text), mbus4_call3 as (select * from served) select (select "create_consumer" as "create_consumer" from mbus4_call1), (select "create_consumer" as "create_consumer" from mbus4_call2), (select "create_trigger" as "create_trigger" from mbus4_call3), native_create_temporary_consumer(('q')::pg_catalog.text, (null::text)::pg_catalog.text) as "create_temporary_consumer"

# where the function may stand
explain select mbus4.create_consumer('q', 'c', '1=1')
----
explain with mbus4_call1_args(n, "qname", "cname", "selector", "noindex") as (select 1::bigint, ('q')::pg_catalog.text, ('c')::pg_catalog.text, ('1=1')::pg_catalog.text, 'false'::boolean), mbus4_call1 as (select * from served) select (select "create_consumer" as "create_consumer" from mbus4_call1)
selector "1=1" at 47

with c as (select mbus4.create_trigger('a', 'b', '1=1')) select * from c
----
with mbus4_call1_args(n, "src", "dst", "selector") as (select 1::bigint, ('a')::pg_catalog.text, ('b')::pg_catalog.text, ('1=1')::pg_catalog.text), mbus4_call1 as (select * from served), c as (select (select "create_trigger" as "create_trigger" from mbus4_call1)) select * from c
selector "1=1" at 49

select mbus4.create_consumer('q', t.name, '1=1') from t
----
with mbus4_rows1 as (select pg_catalog.row_number() over () as n, s.* from (select null, (t.name)::pg_catalog.text from t) as s(h1, h2)), mbus4_call1_args(n, "qname", "cname", "selector", "noindex") as (select mbus4_rows1.n, ('q')::pg_catalog.text, mbus4_rows1.h2, ('1=1')::pg_catalog.text, 'false'::boolean from mbus4_rows1), mbus4_call1 as (select * from served_rows) select mbus4_call1."create_consumer" as "create_consumer" from mbus4_call1 order by mbus4_call1.n
selector "1=1" at 42

prepare p as select mbus4.create_consumer('q', 'c', '1=1')
----
prepare p as with mbus4_call1_args(n, "qname", "cname", "selector", "noindex") as (select 1::bigint, ('q')::pg_catalog.text, ('c')::pg_catalog.text, ('1=1')::pg_catalog.text, 'false'::boolean), mbus4_call1 as (select * from served) select (select "create_consumer" as "create_consumer" from mbus4_call1)
selector "1=1" at 52

select 1; select mbus4.create_trigger('a', 'b', '1=1'); select 2;
----
select 1; with mbus4_call1_args(n, "src", "dst", "selector") as (select 1::bigint, ('a')::pg_catalog.text, ('b')::pg_catalog.text, ('1=1')::pg_catalog.text), mbus4_call1 as (select * from served) select (select "create_trigger" as "create_trigger" from mbus4_call1); select 2;
selector "1=1" at 48

# anything else
select mbus4.create_consumer('q', 'c', t.selector) from t
----
error 0A000 at "t.selector) ": argument selector of mbus4.create_consumer must be known before the statement runs
  hint: Give the selector as a literal or as a bind parameter.

select mbus4.create_consumer('q', 'c', '1=1' || ' and 2=2')
----
with mbus4_call1_args(n, "qname", "cname", "selector", "noindex") as (select 1::bigint, ('q')::pg_catalog.text, ('c')::pg_catalog.text, ('1=1' || ' and 2=2')::pg_catalog.text, 'false'::boolean), mbus4_call1 as (select * from served) select (select "create_consumer" as "create_consumer" from mbus4_call1)
selector ("1=1" || " and 2=2") at 39

select mbus4.create_consumer('q', 'c', ('1=1' collate "C"))
----
error 0A000 at "('1=1' colla": argument selector of mbus4.create_consumer must be known before the statement runs
  hint: Give the selector as a literal or as a bind parameter.

select mbus4.create_trigger('a', 'b', (select '1=1'))
----
error 0A000 at "(select '1=1": argument selector of mbus4.create_trigger must be known before the statement runs
  hint: Give the selector as a literal or as a bind parameter.

select mbus4.create_temporary_consumer('q', '1=1'::char)
----
error 0A000 at "'1=1'::char)": argument selector of mbus4.create_temporary_consumer must be known before the statement runs
  hint: Give the selector as a literal or as a bind parameter.

select mbus4.create_consumer('q', 'c', '1=1'::varchar(2))
----
error 0A000 at "'1=1'::varch": argument selector of mbus4.create_consumer must be known before the statement runs
  hint: Give the selector as a literal or as a bind parameter.

select mbus4.create_consumer('q', 'c', $1 || 'x')
----
with mbus4_call1_args(n, "qname", "cname", "selector", "noindex") as (select 1::bigint, ('q')::pg_catalog.text, ('c')::pg_catalog.text, ($1 || 'x')::pg_catalog.text, 'false'::boolean), mbus4_call1 as (select * from served) select (select "create_consumer" as "create_consumer" from mbus4_call1)
selector ($1 || "x") at 39

prepare p(text) as select mbus4.create_consumer('q', 'c', $1)
----
error 0A000 at "$1)": argument selector of mbus4.create_consumer must be known before the statement runs
  detail: Parameters of this statement are known only when it is executed.
  hint: Give the selector as a literal or as a bind parameter.

create function f(text) returns text begin atomic select mbus4.create_temporary_consumer('q', $1); end
----
error 0A000 at "mbus4.create": mbus4.create_temporary_consumer cannot be called in this statement
  hint: The server runs what is stored in the database without mbusproxy. Call it in a statement that the client sends, for example: select mbus4.create_temporary_consumer(…).

select mbus4.create_consumer('q', 'c', 1)
----
error 42883 at "mbus4.create": function mbus4.create_consumer(unknown, unknown, integer) does not exist
  detail: Parameter selector is of type text.
  hint: The function is mbus4.create_consumer(qname text, cname text, selector text default null, noindex boolean default 'false') returns void.

select mbus4.create_consumer('q', 'c', mbus4.create_temporary_queue())
----
error 0A000 at "mbus4.create": argument selector of mbus4.create_consumer must be known before the statement runs
  hint: Give the selector as a literal or as a bind parameter.
