# what depends on more than the message
(t.properties->'by')=current_user
----
error 42P17 at "current_user": current_user is not allowed in a selector
  hint: A selector depends on the message alone. Let the poster put what it depends on into the message's headers or properties.

t.added < localtimestamp(0)
----
error 42P17 at "localtimesta": localtimestamp is not allowed in a selector
  hint: A selector depends on the message alone. Let the poster put what it depends on into the message's headers or properties.

t.added < now()
----
error 42P17 at "now()": the function now is not allowed in a selector, its result depends on more than its arguments
  hint: A selector depends on the message alone. Let the poster put what it depends on into the message's headers or properties.

t.added::timestamptz > '2001-01-01Z'
----
error 42704 at "timestamptz ": the type timestamptz is not allowed in a selector
  hint: The types are boolean, smallint, integer, bigint, numeric, double precision, text, varchar, date, timestamp, hstore and jsonb, and arrays of these but the last two.

t.added::text > 'x'
----
error 42846 at "t.added::tex": a cast from timestamp without time zone to text is not allowed in a selector
  hint: docs/selectors.md lists the casts. Compare a text with text, or a number with a number.

fickle(t.iid)
----
error 42883 at "fickle(t.iid": the function fickle is not allowed in a selector
  hint: docs/selectors.md lists the functions that a selector may call.

public.fickle(t.iid)
----
error 42883 at "public.fickl": the function public.fickle is not allowed in a selector
  hint: docs/selectors.md lists the functions that a selector may call.

t.iid in (select 'x')
----
error 0A000 at "in (select '": a subquery is not allowed in a selector
  hint: A selector is one boolean expression over the message t, for example (t.properties->'STATE')='DONE'. docs/selectors.md lists what it may hold.

t.iid = any (array(select 'x'))
----
error 0A000 at "array(select": a subquery is not allowed in a selector
  hint: A selector is one boolean expression over the message t, for example (t.properties->'STATE')='DONE'. docs/selectors.md lists what it may hold.

exists (select from pg_class)
----
error 0A000 at "exists (sele": a subquery is not allowed in a selector
  hint: A selector is one boolean expression over the message t, for example (t.properties->'STATE')='DONE'. docs/selectors.md lists what it may hold.

t.iid = $1
----
error 0A000 at "$1": a parameter is not allowed in a selector
  hint: Write it as a constant.

# not one expression
true, false
----
error 42601 at "true, false": a selector must be one SQL expression
  hint: A selector is one boolean expression over the message t, for example (t.properties->'STATE')='DONE'. docs/selectors.md lists what it may hold.

true) or (true
----
error 42601 at "true) or (tr": a selector must be one SQL expression: syntax error at or near ")"
  hint: A selector is one boolean expression over the message t, for example (t.properties->'STATE')='DONE'. docs/selectors.md lists what it may hold.

1; select 2
----
error 42601 at "1; select 2": a selector must be one SQL expression
  hint: A selector is one boolean expression over the message t, for example (t.properties->'STATE')='DONE'. docs/selectors.md lists what it may hold.

true as x
----
error 42601 at "true as x": a selector must be one SQL expression
  hint: A selector is one boolean expression over the message t, for example (t.properties->'STATE')='DONE'. docs/selectors.md lists what it may hold.

true from kept
----
error 42601 at "true from ke": a selector must be one SQL expression
  hint: A selector is one boolean expression over the message t, for example (t.properties->'STATE')='DONE'. docs/selectors.md lists what it may hold.

distinct true
----
error 42601 at "distinct tru": a selector must be one SQL expression
  hint: A selector is one boolean expression over the message t, for example (t.properties->'STATE')='DONE'. docs/selectors.md lists what it may hold.

*
----
error 42601 at "*": a selector must be one SQL expression, * stands for many
  hint: A selector is one boolean expression over the message t, for example (t.properties->'STATE')='DONE'. docs/selectors.md lists what it may hold.

t.*
----
error 42601 at "t.*": a selector must be one SQL expression, * stands for many
  hint: A selector is one boolean expression over the message t, for example (t.properties->'STATE')='DONE'. docs/selectors.md lists what it may hold.

-- only a comment
----
error 42601 at "-- only a co": a selector must be one SQL expression
  hint: A selector is one boolean expression over the message t, for example (t.properties->'STATE')='DONE'. docs/selectors.md lists what it may hold.

/* no end
----
error 42601 at "/* no end": a selector must be one SQL expression: unterminated /* comment at or near "/* no end"
  hint: A selector is one boolean expression over the message t, for example (t.properties->'STATE')='DONE'. docs/selectors.md lists what it may hold.

(t.data->'a' = 'b'
----
error 42601 at "(t.data->'a'": a selector must be one SQL expression: syntax error at end of input
  hint: A selector is one boolean expression over the message t, for example (t.properties->'STATE')='DONE'. docs/selectors.md lists what it may hold.

# types
1
----
error 42804 at "1": a selector must be boolean, not integer
  hint: A selector is one boolean expression over the message t, for example (t.properties->'STATE')='DONE'. docs/selectors.md lists what it may hold.

t.iid
----
error 42804 at "t.iid": a selector must be boolean, not text
  hint: A selector is one boolean expression over the message t, for example (t.properties->'STATE')='DONE'. docs/selectors.md lists what it may hold.

t
----
error 42804 at "t": the whole row t is not allowed in a selector
  hint: A message has the columns id, added, iid, delayed_until, expires, received, headers, properties, data and payload, written bare or with t.

t.nosuch = 1
----
error 42703 at "t.nosuch = 1": column nosuch does not exist: there is nothing but the columns of t
  hint: A message has the columns id, added, iid, delayed_until, expires, received, headers, properties, data and payload, written bare or with t. A value is read with ->, for example t.properties->'STATE'; texts stand in single quotes.

u.iid = 'x'
----
error 42P01 at "u.iid = 'x'": u.iid is not allowed in a selector: there is nothing but the columns of t
  hint: A message has the columns id, added, iid, delayed_until, expires, received, headers, properties, data and payload, written bare or with t.

nosuch = 1
----
error 42703 at "nosuch = 1": column nosuch does not exist: there is nothing but the columns of t
  hint: A message has the columns id, added, iid, delayed_until, expires, received, headers, properties, data and payload, written bare or with t. A value is read with ->, for example t.properties->'STATE'; texts stand in single quotes.

t.iid = 7
----
error 42883 at "t.iid = 7": operator does not exist, or is not allowed in a selector: text = integer
  hint: Cast one side, for example (t.data->'n')::int.

nosuch(t.iid)
----
error 42883 at "nosuch(t.iid": the function nosuch is not allowed in a selector
  hint: docs/selectors.md lists the functions that a selector may call.

count(*) > 1
----
error 42803 at "count(*) > 1": the aggregate function count is not allowed in a selector
  hint: A selector is one boolean expression over the message t, for example (t.properties->'STATE')='DONE'. docs/selectors.md lists what it may hold.

row_number() over () > 1
----
error 42P20 at "row_number()": the window function row_number is not allowed in a selector
  hint: A selector is one boolean expression over the message t, for example (t.properties->'STATE')='DONE'. docs/selectors.md lists what it may hold.

generate_series(1, 2) > 1
----
error 0A000 at "generate_ser": the set-returning function generate_series is not allowed in a selector
  hint: akeys(t.data) and avals(t.data) give arrays.

'x'::int > 1
----
error 22P02 at "'x'::int > 1": invalid input syntax for type integer: "x"
  hint: A selector is one boolean expression over the message t, for example (t.properties->'STATE')='DONE'. docs/selectors.md lists what it may hold.

'xx'::mydomain = 'x'
----
error 42704 at "mydomain = '": the type mydomain is not allowed in a selector
  hint: The types are boolean, smallint, integer, bigint, numeric, double precision, text, varchar, date, timestamp, hstore and jsonb, and arrays of these but the last two.

t.data->'x' = 'y'::public.dom
----
error 42704 at "public.dom": the type public.dom is not allowed in a selector
  hint: The types are boolean, smallint, integer, bigint, numeric, double precision, text, varchar, date, timestamp, hstore and jsonb, and arrays of these but the last two.

(t.data->'j')::jsonb is not null
----
error 42846 at "t.data->'j')": a cast from text to jsonb is not allowed in a selector
  hint: docs/selectors.md lists the casts. Compare a text with text, or a number with a number.

t.iid collate "en_US" < 'x'
----
error 0A000 at "collate \"en_": the collation en_US is not allowed in a selector
  hint: The collations are "C" and "default".

t.iid like t.data->'p'
----
error 0A000 at "t.data->'p'": a pattern that is no constant is not allowed in a selector
  hint: Write it as a constant.

t.iid ~ '(a)\1'
----
error 2201B at "'(a)\\1'": \1 is not allowed in a regular expression of a selector
  hint: Characters, ., [a-z], [[:alpha:]], (a|b), ^, $, * + ? {2,5}, \d \s \w \D \S \W \y and \ before a sign may be used; docs/selectors.md has the list.

t.iid ~ 'a{1000}'
----
error 2201B at "'a{1000}'": such a {m,n} is not allowed in a regular expression of a selector
  hint: Characters, ., [a-z], [[:alpha:]], (a|b), ^, $, * + ? {2,5}, \d \s \w \D \S \W \y and \ before a sign may be used; docs/selectors.md has the list.

t.iid ~ t.iid
----
error 0A000 at "t.iid": a pattern that is no constant is not allowed in a selector
  hint: Write it as a constant.

(t.data->'n')::int ^ 2 > 5
----
error 42883 at "t.data->'n')": operator does not exist, or is not allowed in a selector: integer ^ integer
  hint: docs/selectors.md lists the operators that a selector may use.

t.iid operator(public.=) 'x'
----
error 42883 at "t.iid operat": operator does not exist, or is not allowed in a selector: text public.= unknown
  hint: docs/selectors.md lists the operators that a selector may use.

row(t.iid, 1) = row('x', 1)
----
error 0A000 at "row(t.iid, 1": a row is not allowed in a selector
  hint: Compare the values one by one.

t.added > '01/02/2024'
----
error 22007 at "'01/02/2024'": invalid input syntax for type timestamp without time zone: "01/02/2024"
  hint: Dates and times are written as 2024-12-31 or 2024-12-31 23:59:59.999999, whatever DateStyle is.

t.expires - t.added > interval '1 hour'
----
error 42883 at "t.expires - ": operator does not exist, or is not allowed in a selector: timestamp without time zone - timestamp without time zone
  hint: Compare what extract(epoch from …) gives for each, in seconds.

array_to_string(t.received, ',') = 'x'
----
error 42P17 at "array_to_str": the function array_to_string is not allowed in a selector, its result depends on more than its arguments
  hint: A selector depends on the message alone. Let the poster put what it depends on into the message's headers or properties.

(t.data).x = 'y'
----
error 0A000 at "t.data).x = ": the field .x is not allowed in a selector
  hint: A message has the columns id, added, iid, delayed_until, expires, received, headers, properties, data and payload, written bare or with t.

t.iid similar to 'x'
----
error 0A000 at "t.iid simila": SIMILAR TO is not allowed in a selector
  hint: Use LIKE or ~.

# every other refusal
(select true)
----
error 0A000 at "(select true": a subquery is not allowed in a selector
  hint: A selector is one boolean expression over the message t, for example (t.properties->'STATE')='DONE'. docs/selectors.md lists what it may hold.

t.data->'a' = $1
----
error 0A000 at "$1": a parameter is not allowed in a selector
  hint: Write it as a constant.

row(1, 2) = row(3, 4)
----
error 0A000 at "row(1, 2) = ": a row is not allowed in a selector
  hint: Compare the values one by one.

grouping(t.id) = 1
----
error 42803 at "grouping(t.i": GROUPING is not allowed in a selector
  hint: A selector is one boolean expression over the message t, for example (t.properties->'STATE')='DONE'. docs/selectors.md lists what it may hold.

default
----
error 42601 at "default": DEFAULT is not allowed in a selector
  hint: A selector is one boolean expression over the message t, for example (t.properties->'STATE')='DONE'. docs/selectors.md lists what it may hold.

(t.data).x = 'a'
----
error 0A000 at "t.data).x = ": the field .x is not allowed in a selector
  hint: A message has the columns id, added, iid, delayed_until, expires, received, headers, properties, data and payload, written bare or with t.

(array[1,2])[1:2] = array[1,2]
----
error 0A000 at "array[1,2])[": a slice of an array is not allowed in a selector
  hint: Take one element of an array, for example (avals(t.data))[1].

(t.iid)[1] = 'a'
----
error 42804 at "t.iid)[1] = ": text has no elements to take with []
  hint: Write t.data->'key' for a value of a hstore.

t.id collate "C" = 1
----
error 42804 at "t.id collate": collations are not supported by type bigint
  hint: A selector is one boolean expression over the message t, for example (t.properties->'STATE')='DONE'. docs/selectors.md lists what it may hold.

t.iid collate "de_DE" = 'a'
----
error 0A000 at "collate \"de_": the collation de_DE is not allowed in a selector
  hint: The collations are "C" and "default".

t.iid collate "C" = t.iid collate "default"
----
error 42P21 at "t.iid collat": collation mismatch between explicit collations "C" and "default"
  hint: A selector is one boolean expression over the message t, for example (t.properties->'STATE')='DONE'. docs/selectors.md lists what it may hold.

t is null
----
error 42804 at "t is null": the whole row t is not allowed in a selector
  hint: A message has the columns id, added, iid, delayed_until, expires, received, headers, properties, data and payload, written bare or with t.

mbus4.queue.name = 'q'
----
error 42P01 at "mbus4.queue.": mbus4.queue.name is not allowed in a selector: there is nothing but the columns of t
  hint: A message has the columns id, added, iid, delayed_until, expires, received, headers, properties, data and payload, written bare or with t.

t.iid and true
----
error 42804 at "t.iid and tr": argument of AND must be type boolean, not type text
  hint: A selector is one boolean expression over the message t, for example (t.properties->'STATE')='DONE'. docs/selectors.md lists what it may hold.

t.id
----
error 42804 at "t.id": a selector must be boolean, not bigint
  hint: A selector is one boolean expression over the message t, for example (t.properties->'STATE')='DONE'. docs/selectors.md lists what it may hold.

lag(t.id) over () = 1
----
error 42P20 at "lag(t.id) ov": the window function lag is not allowed in a selector
  hint: A selector is one boolean expression over the message t, for example (t.properties->'STATE')='DONE'. docs/selectors.md lists what it may hold.

count(*) = 1
----
error 42803 at "count(*) = 1": the aggregate function count is not allowed in a selector
  hint: A selector is one boolean expression over the message t, for example (t.properties->'STATE')='DONE'. docs/selectors.md lists what it may hold.

unnest(t.received) = 1
----
error 0A000 at "unnest(t.rec": the set-returning function unnest is not allowed in a selector
  hint: akeys(t.data) and avals(t.data) give arrays.

length(str => t.iid) = 1
----
error 0A000 at "length(str =": an argument with a name is not allowed in a selector
  hint: Give the arguments without names.

substring(t.iid from t.iid) = 'a'
----
error 42883 at "substring(t.": the function substring(text, text) does not exist, or is not allowed in a selector
  hint: docs/selectors.md lists the functions that a selector may call.

t.iid like t.data->'a'
----
error 0A000 at "t.data->'a'": a pattern that is no constant is not allowed in a selector
  hint: Write it as a constant.

left(t.iid, 'x') = 'a'
----
error 22P02 at "'x') = 'a'": invalid input syntax for type integer: "x"
  hint: A selector is one boolean expression over the message t, for example (t.properties->'STATE')='DONE'. docs/selectors.md lists what it may hold.

coalesce(t.iid, t.id) = 'a'
----
error 42804 at "t.id) = 'a'": COALESCE types text and bigint cannot be matched
  hint: Cast one side, for example (t.data->'n')::int.

array[] = array[1]
----
error 42P18 at "array[] = ar": cannot determine type of empty array
  hint: Write '{}'::text[].

array[t.data] = array[t.data]
----
error 0A000 at "array[t.data": an array of hstore is not allowed in a selector
  hint: The types are boolean, smallint, integer, bigint, numeric, double precision, text, varchar, date, timestamp, hstore and jsonb, and arrays of these but the last two.

99999::smallint = 1
----
error 22003 at "99999::small": smallint out of range
  hint: A selector is one boolean expression over the message t, for example (t.properties->'STATE')='DONE'. docs/selectors.md lists what it may hold.

'x'::varchar(0) = t.iid
----
error 22P02 at "varchar(0) =": length for type varchar must be between 1 and 10485760
  hint: A selector is one boolean expression over the message t, for example (t.properties->'STATE')='DONE'. docs/selectors.md lists what it may hold.

1::numeric(2000, 1) = 1
----
error 0A000 at "numeric(2000": NUMERIC precision 2000 and scale 1 are not allowed in a selector
  hint: A selector is one boolean expression over the message t, for example (t.properties->'STATE')='DONE'. docs/selectors.md lists what it may hold.

t.data::int = 1
----
error 42846 at "t.data::int ": a cast from hstore to integer is not allowed in a selector
  hint: docs/selectors.md lists the casts. Compare a text with text, or a number with a number.

t.id + any(array[1]) = 1
----
error 0A000 at "t.id + any(a": operator + with ANY or ALL is not allowed in a selector
  hint: Only comparisons may stand before ANY and ALL.

t.id = any(t.id)
----
error 42804 at "t.id)": ANY and ALL require an array on the right side, not bigint
  hint: A selector is one boolean expression over the message t, for example (t.properties->'STATE')='DONE'. docs/selectors.md lists what it may hold.

t.iid like any(array[t.iid])
----
error 0A000 at "t.iid like a": operator ~~ with ANY or ALL is not allowed in a selector
  hint: Only comparisons may stand before ANY and ALL.

t.id = 'x'
----
error 22P02 at "'x'": invalid input syntax for type bigint: "x"
  hint: A selector is one boolean expression over the message t, for example (t.properties->'STATE')='DONE'. docs/selectors.md lists what it may hold.

t.id = '99999999999999999999'
----
error 22003 at "'99999999999": value "99999999999999999999" is out of range for type bigint
  hint: A selector is one boolean expression over the message t, for example (t.properties->'STATE')='DONE'. docs/selectors.md lists what it may hold.

t.added = '31.12.2024'
----
error 22007 at "'31.12.2024'": invalid input syntax for type timestamp without time zone: "31.12.2024"
  hint: Dates and times are written as 2024-12-31 or 2024-12-31 23:59:59.999999, whatever DateStyle is.

t.received = '{{1}'
----
error 22P02 at "'{{1}'": malformed array literal: "{{1}"
  hint: Write an array of one dimension, for example {a,b}.

B'1' = t.iid
----
error 0A000 at "B'1' = t.iid": a bit string is not allowed in a selector
  hint: Write it as a constant.

t.iid similar to 'a'
----
error 0A000 at "t.iid simila": SIMILAR TO is not allowed in a selector
  hint: Use LIKE or ~.

t.iid operator(public.=) 'a'
----
error 42883 at "t.iid operat": operator does not exist, or is not allowed in a selector: text public.= unknown
  hint: docs/selectors.md lists the operators that a selector may use.

- t.iid = 'a'
----
error 42883 at "- t.iid = 'a": operator does not exist, or is not allowed in a selector: - text
  hint: docs/selectors.md lists the operators that a selector may use.

t.received @> array[t.id::int] and t.received = t.received || t.received
----
error 0A000 at "t.received @": operator @> between such arrays is not allowed in a selector
  hint: One of the arrays must be a constant of at most 100 elements.

round(1.5, 1000) = 1
----
error 22003 at "1000) = 1": argument 2 of the function round must be between -100 and 100 in a selector
  hint: A selector is one boolean expression over the message t, for example (t.properties->'STATE')='DONE'. docs/selectors.md lists what it may hold.

date_part('fortnight', t.added) = 1
----
error 0A000 at "'fortnight',": the field "fortnight" is not allowed in a selector
  hint: The fields are day, dow, doy, epoch, hour, isodow, minute, month, quarter, second, week, year.

extract(fortnight from t.added) = 1
----
error 0A000 at "fortnight fr": the field "fortnight" is not allowed in a selector
  hint: The fields are day, dow, doy, epoch, hour, isodow, minute, month, quarter, second, week, year.

t.iid like 'a\'
----
error 22025 at "'a\\'": LIKE pattern must not end with escape character
  hint: Write \\ for a backslash.

t.iid like 'a' escape 'bc'
----
error 22025 at "like 'a' esc": invalid escape string
  hint: Escape string must be empty or one character.

t.iid ~ '('
----
error 2201B at "'('": an empty alternative is not allowed in a regular expression of a selector
  hint: Characters, ., [a-z], [[:alpha:]], (a|b), ^, $, * + ? {2,5}, \d \s \w \D \S \W \y and \ before a sign may be used; docs/selectors.md has the list.

t.iid ~ '(?=a)b'
----
error 2201B at "'(?=a)b'": (? is not allowed in a regular expression of a selector
  hint: Characters, ., [a-z], [[:alpha:]], (a|b), ^, $, * + ? {2,5}, \d \s \w \D \S \W \y and \ before a sign may be used; docs/selectors.md has the list.

t.iid ~ '((((((((((a{1,99}){1,99})))))))))'
----
error 54001 at "'((((((((((a": the regular expression is too complex
  hint: Characters, ., [a-z], [[:alpha:]], (a|b), ^, $, * + ? {2,5}, \d \s \w \D \S \W \y and \ before a sign may be used; docs/selectors.md has the list.

t.id::bigint[] = t.received
----
error 42846 at "t.id::bigint": a cast from bigint to bigint[] is not allowed in a selector
  hint: docs/selectors.md lists the casts. Compare a text with text, or a number with a number.

t.iid::char(3) = 'a'
----
error 42704 at "char(3) = 'a": the type bpchar is not allowed in a selector
  hint: The types are boolean, smallint, integer, bigint, numeric, double precision, text, varchar, date, timestamp, hstore and jsonb, and arrays of these but the last two.

t.iid || 5
----
error 42883 at "t.iid || 5": operator does not exist, or is not allowed in a selector: text || integer
  hint: docs/selectors.md lists the operators that a selector may use.

# what those write who come from JSON, or mean a key or a text
t.data->>'n' = '1'
----
error 42883 at "t.data->>'n'": operator does not exist, or is not allowed in a selector: hstore ->> unknown
  hint: The operator for a key is ->, which gives a text: t.data->'n'.

STATE = 'DONE'
----
error 42703 at "STATE = 'DON": column state does not exist: there is nothing but the columns of t
  hint: A message has the columns id, added, iid, delayed_until, expires, received, headers, properties, data and payload, written bare or with t. A value is read with ->, for example t.properties->'STATE'; texts stand in single quotes.

t.properties->'STATE' = "DONE"
----
error 42703 at "\"DONE\"": column DONE does not exist: there is nothing but the columns of t
  hint: A message has the columns id, added, iid, delayed_until, expires, received, headers, properties, data and payload, written bare or with t. A value is read with ->, for example t.properties->'STATE'; texts stand in single quotes.

# JSON
payload @> '{'
----
error 22P02 at "'{'": invalid input syntax for type json: "{"
  hint: JSON has at most 100 levels, no escapes like \u0041, and numbers with exponents of at most two digits.

payload = '"\u0000"'
----
error 22P02 at "'\"\\u0000\"'": invalid input syntax for type json: ""\u0000""
  hint: JSON has at most 100 levels, no escapes like \u0041, and numbers with exponents of at most two digits.

payload @> '[1e999999]'
----
error 22P02 at "'[1e999999]'": invalid input syntax for type json: "[1e999999]"
  hint: JSON has at most 100 levels, no escapes like \u0041, and numbers with exponents of at most two digits.

payload @> (payload->'a')
----
error 0A000 at "payload @> (": operator @> between such values is not allowed in a selector
  hint: One of them must be a constant.

payload->'a' > '1'
----
error 42883 at "payload->'a'": operator does not exist, or is not allowed in a selector: jsonb > unknown
  hint: Cast one side, for example (t.data->'n')::int.

(payload->'a')::int > 1
----
error 42846 at "payload->'a'": a cast from jsonb to integer is not allowed in a selector
  hint: docs/selectors.md lists the casts. Compare a text with text, or a number with a number.

payload - 'a' = '{}'
----
error 42883 at "payload - 'a": operator does not exist, or is not allowed in a selector: jsonb - unknown
  hint: docs/selectors.md lists the operators that a selector may use.

greatest(payload, '{}') is null
----
error 42804 at "greatest(pay": greatest of type jsonb is not allowed in a selector
  hint: A selector is one boolean expression over the message t, for example (t.properties->'STATE')='DONE'. docs/selectors.md lists what it may hold.

payload['n'] = '7'
----
error 42804 at "payload['n']": jsonb has no elements to take with []
  hint: Write t.payload->'key' for a value, and t.payload->0 for an element.

mbus4.payload(t.headers, t.data) = '7'
----
error 42883 at "mbus4.payloa": the function mbus4.payload is not allowed in a selector
  hint: docs/selectors.md lists the functions that a selector may call.
