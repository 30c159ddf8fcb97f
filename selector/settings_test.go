package selector

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"mbusproxy/selector/input"
)

// goldenTexts are the selectors of testdata/conditions.sql.
func goldenTexts(t *testing.T) []string {
	t.Helper()
	b, err := os.ReadFile("testdata/conditions.sql")
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, c := range strings.Split(string(b), "\n\n") {
		text, _, _ := strings.Cut(c, "\n----")
		for strings.HasPrefix(text, "# ") {
			_, text, _ = strings.Cut(text, "\n")
		}
		out = append(out, text)
	}
	return out
}

// hostile makes whatever a client could make so that an operator, function or type without its schema would be
// another one.
const hostile = `
create function public.evil() returns text language plpgsql as $$ begin raise exception 'a client''s code runs'; end $$;
create function public.lower(text) returns text language sql as 'select public.evil()';
create function public.octet_length(text) returns int language sql as 'select public.evil()::int';
create function public.eq(text, text) returns boolean language sql as 'select public.evil()::boolean';
create function public.eq(int, int) returns boolean language sql as 'select public.evil()::boolean';
create function public.eq(bigint, int) returns boolean language sql as 'select public.evil()::boolean';
create function public.fetch(hstore, varchar) returns text language sql as 'select public.evil()';
create operator public.= (leftarg = text, rightarg = text, function = public.eq);
create operator public.= (leftarg = int, rightarg = int, function = public.eq);
create operator public.> (leftarg = int, rightarg = int, function = public.eq);
create operator public.> (leftarg = bigint, rightarg = int, function = public.eq);
create operator public.~ (leftarg = text, rightarg = text, function = public.eq);
create operator public.-> (leftarg = hstore, rightarg = varchar, function = public.fetch);
create domain public.int4 as pg_catalog.int4 check (public.evil() is null);
create domain public.text as pg_catalog.text check (public.evil() is null);
set search_path = public, pg_catalog`

// A Condition gives the same under every setting of a session and beside whatever a client has made.
func TestSettings(t *testing.T) {
	t.Parallel()
	settings := []string{
		"set datestyle = 'SQL, DMY'; set intervalstyle = sql_standard",
		"set datestyle = 'German, DMY'; set timezone = 'Asia/Tokyo'",
		"set standard_conforming_strings = off; set escape_string_warning = on; set backslash_quote = off",
		"set extra_float_digits = -15; set bytea_output = escape; set array_nulls = off; set quote_all_identifiers = on",
		"set lc_numeric = 'C'; set lc_time = 'C'; set xmlbinary = hex; set transform_null_equals = on",
		hostile,
	}
	for name, options := range map[string]string{
		"UTF8":      "template template0 encoding UTF8 locale 'C.UTF-8'",
		"SQL_ASCII": "template template0 encoding SQL_ASCII locale 'C'",
		"WIN1251":   "template template0 encoding WIN1251 locale 'C'",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn := newDatabase(t, options)
			fillASCII(t, conn)
			texts := goldenTexts(t)
			g := &generator{rand.New(rand.NewPCG(3, 3))}
			for len(texts) < 150 {
				texts = append(texts, g.boolean(3))
			}
			before := evaluateAll(t, conn, name, texts)
			for _, s := range settings {
				if _, err := conn.Exec(t.Context(), s); err != nil {
					t.Fatalf("%s: %v", s, err)
				}
				if s == hostile { // it must take effect where names have no schema
					for _, plain := range []string{"t.iid = 'x'", "t.id > 5", "'x'::text is null", "lower(t.iid) is null"} {
						if _, err := conn.Exec(t.Context(), "select "+plain+" from message t"); err == nil || !strings.Contains(err.Error(), "a client's code runs") {
							t.Errorf("plain %s: %v", plain, err)
						}
					}
				}
				for text, now := range evaluateAll(t, conn, name, texts) {
					if now != before[text] {
						t.Errorf("%s: %s: gives %s, not %s", s, text, now, before[text])
					}
				}
			}
		})
	}
}

// evaluateAll gives the results of each selector for all messages; each statement is parsed anew.
func evaluateAll(t *testing.T, conn *pgx.Conn, encoding string, texts []string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, text := range texts {
		s, err := compile(text, testEnv)
		if err != nil || encoding == "WIN1251" && strings.ContainsFunc(text, func(r rune) bool { return r == 'ö' || r == 'ß' }) {
			continue
		}
		var got string
		sql := "select pg_catalog.array_agg(" + s.Condition + " order by t.n)::pg_catalog.text from public.message t"
		if err := conn.QueryRow(t.Context(), sql, pgx.QueryExecModeExec).Scan(&got); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		out[text] = got
	}
	return out
}

func fillASCII(t *testing.T, conn *pgx.Conn) {
	t.Helper()
	for i, v := range []string{"12", "xx", "2024-03-04", "a,b", " 7 ", `a\b`, "1.5", "true", "", "O'Brien", "2001-02-03 04:05:06"} {
		store := fmt.Sprintf(`a=>%[1]s, b=>"b", n=>%[1]s, m=>"3", x=>%[1]s, d=>%[1]s, flag=>%[1]s, price=>%[1]s, when=>%[1]s, day=>%[1]s, STATE=>DONE`, input.DoubleQuoted(v))
		if _, err := conn.Exec(t.Context(), "insert into message values ($1::int, $1::int, '2024-05-06 07:08:09', $2, '2000-01-01', '2999-01-01', '{1,2}', $3::text::hstore, $3::text::hstore, $3::text::hstore)", i, v, store); err != nil {
			t.Fatal(err)
		}
	}
}

// Postgres itself finds each Condition immutable: else no index could have it.
func TestConditionsAreImmutable(t *testing.T) {
	t.Parallel()
	conn := newDatabase(t, "")
	g := &generator{rand.New(rand.NewPCG(5, 5))}
	texts := goldenTexts(t)
	for len(texts) < 200 {
		texts = append(texts, g.boolean(3))
	}
	for _, text := range texts {
		s, err := compile(text, testEnv)
		if err != nil {
			continue
		}
		// The columns of an index's predicate cannot have an alias.
		predicate := regexp.MustCompile(`\bt\.(id|added|iid|delayed_until|expires|received|headers|properties|data)\b`).ReplaceAllString(s.Condition, "$1")
		_, err = conn.Exec(t.Context(), "create index one on message (n) where ("+predicate+") = 1")
		var said *pgconn.PgError
		if errors.As(err, &said) && said.Code == codeProgramLimit {
			continue // it was found immutable, and then too long for a row of pg_index
		}
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if _, err := conn.Exec(t.Context(), "drop index one"); err != nil {
			t.Fatal(err)
		}
	}
}
