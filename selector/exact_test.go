package selector

import (
	"strings"
	"testing"
)

// Dates, times and other texts at the edges of what casts read: the same as plain evaluation, or an error where
// docs/selectors.md says so.
func TestCastsOfTexts(t *testing.T) {
	t.Parallel()
	conn := newDatabase(t, "")
	const narrowed = "narrowed"
	for _, c := range []struct{ typ, values, is string }{
		{"date", "2024-02-29|2000-02-29|1999-12-31|0001-01-01|9999-12-31|2023-04-30|2024-01-31", ""},
		{"date", "2023-02-29|1900-02-29|2100-02-29|2024-04-31|2024-00-10|2024-13-01|2024-01-32|0000-01-01|xx||2024-02-30|2024-01-00", ""},
		{"date", "infinity|today|20240101|1/2/2024|2024-1-1|Jan 5 2024|2024-01-01 10:00| 2024-01-01|2024-01-01 BC|10000-01-01", narrowed},
		{"timestamp", "2024-02-29|2024-02-29 12:34|2024-02-29T12:34|2024-02-29 12:34:56|2024-02-29 23:59:59.999999|2024-01-01 00:00:00.1|2024-01-01T10:00:00Z|2024-01-01 10:00:00+03|2024-01-01 10:00:00-03:30|2024-01-01 10:00+0330|0001-01-01 00:00:00|9999-12-31 23:59:59", ""},
		{"timestamp", "2023-02-29 10:00|2024-01-01 25:00|2024-01-01 10:60|2024-01-01 10:00:61|2024-01-01 1|0000-01-01 00:00|2024-01-01T", ""},
		{"timestamp", "2024-01-01 24:00|2024-01-01 10:00:60|now|2024-01-01 10:00:00.1234567|2024-01-01 10:00 PM|20240101T101010|-infinity|2024-01-01 10|2024-01-01 10:", narrowed},
		{"int", "0|-0|+5| 7 |\t7\n|2147483647|-2147483648|000000000000000007|2147483648|-2147483649|99999999999|1.0|1e3|| |-|+|--1|1 2|x|\u00a07|７", ""},
		{"int", "0000000000000000000000005|0x1F|1_000|0b1|0o7", narrowed},
		{"smallint", "32767|-32768|32768|-32769|5", ""},
		{"bigint", "9223372036854775807|-9223372036854775808|9223372036854775808|-9223372036854775809|99999999999999999999999|12|0000000000000000000000000000000000007", ""},
		{"numeric", "1|1.50|.5|5.|-1e5|1E-5|+1e+9|1e99|1e|e5|.|1.2.3|1,5|| 1 ", ""},
		{"numeric", "NaN|Infinity|1e100|0x1F|1_0", narrowed},
		{"float8", "1|1.50|.5|5.|-1e5|1E-5|1e99|1e-99|-0|0.1|9007199254740993|123456789012345678901234567890|x|", ""},
		{"float8", "NaN|-Infinity|1e100|1e400|1e-400|0x1p3", narrowed},
		{"boolean", "t|true|TRUE|yes|on|1|tru|y|f|false|no|off|of|n|0| true |o|2|truee|| |ja", ""},
	} {
		for _, v := range strings.Split(c.values, "|") {
			text := "(t.data->'v')::" + c.typ + " is null"
			// As text where that can be, so that the values are compared, too.
			other := "(t.data->'v')::" + c.typ + " = " + quote(v) + "::" + c.typ
			if _, err := conn.Exec(t.Context(), "insert into message (n, data) values (1, hstore('v', $1)) on conflict (n) do update set data = excluded.data", v); err != nil {
				t.Fatal(err)
			}
			evaluate := func(condition string, failed int) (result int) {
				var results []int
				if err := conn.QueryRow(t.Context(), "select results from evaluate($1, $2)", condition, failed).Scan(&results); err != nil {
					t.Fatal(err)
				}
				return results[0]
			}
			for i, text := range []string{text, other} {
				s, err := compile(text, testEnv)
				if err != nil {
					if i == 0 {
						t.Fatal(err)
					}
					continue // the constant is refused, as the text is
				}
				plain, ours := evaluate("case when "+text+" then 1 else 0 end", -1), evaluate(s.Condition, -2)
				if c.is == narrowed && ours != -1 || c.is == "" && ours != plain {
					t.Errorf("%q: %s: plain %d, ours %d", v, text, plain, ours)
				}
			}
		}
	}
}

// Constants that are null, which Postgres takes as a reason not to look at the rest, and other
// forms the generator leaves out.
func TestResults(t *testing.T) {
	t.Parallel()
	conn := newDatabase(t, "")
	if _, err := conn.Exec(t.Context(), `insert into message values (1, 7, '2024-05-06 07:08:09', 'q.db.1', '2024-05-06', 'infinity', '{1,2}',
		'kind=>x', 'STATE=>DONE, big=>99999999999, p=>NULL', hstore(array['n', '12', 'x', 'xx', 'empty', '', 'who', 'O''Brien', 'path', 'a\b', 'long', repeat('y', 70000)]))`); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]int{
		"(t.properties->'STATE')='DONE'":                                                           1,
		"properties->'p' = '1'":                                                                    0,
		"coalesce((t.data->'x')::int, 0) = 0":                                                      -1,
		"coalesce((t.data->'none')::int, 0) = 0":                                                   1,
		"(t.data->'x')::int > null":                                                                0,
		"false and (t.data->'x')::int > 1":                                                         0,
		"(t.data->'x')::int > 1 and false":                                                         -1,
		"t.id = 7 or (t.data->'x')::int > 1":                                                       1,
		"(t.data->'x')::int > 1 or t.id = 7":                                                       -1,
		"t.id = 8 and (t.data->'x')::int > 1 and 1 = 1":                                            0,
		"t.properties->'p' = 'x' and (t.data->'x')::int > 1":                                       -1,
		"(t.data->'n')::int > 1 and (t.data->'x')::int > 1":                                        -1,
		"(t.data->'n')::int > 20 and (t.data->'x')::int > 1":                                       0,
		"(t.data->'none')::int > 20 and (t.data->'x')::int > 1":                                    -1,
		"(t.data->'none')::int > 20 and (t.data->'n')::int > 1":                                    0,
		"((t.data->'x')::int > 1) is null":                                                         -1,
		"not ((t.data->'x')::int > 1)":                                                             -1,
		"(t.properties->'big')::int > 1":                                                           -1,
		"(t.properties->'big')::bigint > 1":                                                        1,
		"(t.properties->'big')::bigint::int > 1":                                                   -1,
		"12 / (t.data->'n')::int = 1 and 1 / ((t.data->'n')::int - 12) = 1":                        -1,
		"null::int / ((t.data->'n')::int - 12) is null":                                            1,
		"case when t.data->'x' ~ '^[0-9]+$' then (t.data->'x')::int > 1 else true end":             1,
		"t.data->'long' like 'y%' and length(t.data->'long') = 70000":                              1,
		"t.data->'long' ~ 'y'":                                                                     -1,
		"lower(t.data->'long') = 'y'":                                                              -1,
		"t.data->'long' <> 'y'":                                                                    1,
		"extract(year from t.expires) = 1":                                                         -1,
		"t.expires > '2999-01-01'":                                                                 1,
		"t.expires = 'infinity'":                                                                   1,
		"extract(epoch from t.added) - extract(epoch from t.delayed_until) = 25689":                1,
		"t.added::date = '2024-05-06' and t.delayed_until = date '2024-05-06'":                     1,
		`t.data->'who' = E'O\'Brien' and t.data->'who' = $$O'Brien$$ and t.data->'path' = 'a\b'`:   1,
		"t.data->'empty' = '' and (t.data->'empty')::int = 0":                                      -1,
		"substring(t.data->'x', 1, -1) = ''":                                                       -1,
		"substr(t.data->'x', 2, null) is null":                                                     1,
		"split_part(t.iid, '.', 2) = 'db' and split_part(t.iid, '.', -1) = '1'":                    1,
		"split_part(t.iid, '.', (t.data->'n')::int - 12) = ''":                                     -1,
		"t.iid like 'q.%' and t.iid not like '%!_%' escape '!'":                                    1,
		"(t.data->'n')::numeric(4,1) = 12 and (t.data->'n')::numeric(2,1) = 12":                    -1,
		"(t.data->'n')::int in (11, 12, null) and t.id not in (1, 2)":                              1,
		"(t.data->'n')::int in (11, null)":                                                         0,
		"(t.data->'x')::int in (11, null)":                                                         -1,
		"t.received @> array[1] and 2 = any (t.received) and t.received[2] = 2":                    1,
		"t.properties @> 'STATE=>DONE' and t.properties ?& '{STATE,p}' and not data ?| array['q']": 1,
		"9223372036854775807 + t.id > 0":                                                           -1,
		"- (t.id - 9223372036854775807 - 8) > 0":                                                   -1,
		"t.id between symmetric 10 and 5":                                                          1,
		"case t.id when 6 then false when 7 then true end":                                         1,
		"nullif(t.data->'empty', '') is null and nullif(t.id, 7) is null":                          1,
		"(t).iid = 'q.db.1' and (((t)).id) = 7":                                                    1,
		"t.iid = 'q.db.1' -- at the end":                                                           1,
	} {
		s, err := compile(text, testEnv)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		var got int
		if err := conn.QueryRow(t.Context(), "select "+s.Condition+" from message t").Scan(&got); err != nil || got != want {
			t.Errorf("%s: got %d %v, want %d\n%s", text, got, err, want, s.Condition)
		}
		if want == -1 && !s.CanFail {
			t.Errorf("%s: CanFail is false", text)
		}
	}
}
