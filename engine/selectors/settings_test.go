package selectors_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"mbusproxy/engine"
	"mbusproxy/engine/internal/enginetest"
	"mbusproxy/engine/internal/served"
	"mbusproxy/engine/schema"
	"mbusproxy/engine/selectors"
)

// Whoever evaluates a selector, its condition stands for itself: settings of the session change nothing.
func TestSelectorsUnderSettings(t *testing.T) {
	t.Parallel()
	for _, create := range []string{"", " encoding 'SQL_ASCII' locale 'C' template template0", " encoding 'WIN1251' locale 'C' template template0"} {
		t.Run("database"+create, func(t *testing.T) {
			t.Parallel()
			name := enginetest.NewDatabase(t)
			if create != "" {
				admin := enginetest.Connect(t, "postgres")
				enginetest.Exec(t, admin, "drop database "+name)
				enginetest.Exec(t, admin, "create database "+name+create)
			}
			if _, err := engine.Init(enginetest.Context(t), enginetest.DSN(name), schema.Options{}); err != nil {
				t.Fatal(err)
			}
			e := served.Open(t, engine.Options{})
			texts := []string{`t.data->'back\slash' = 'c:\new ''x'''`, `t.data->'name' = 'Ж'`}
			conn := enginetest.Connect(t, name)
			enginetest.Exec(t, conn, "set client_encoding = 'UTF8'")
			enginetest.Exec(t, conn, called("create_queue", "'q', 1"))
			for i, text := range texts {
				if err := ensure(t, e, name, text); err != nil {
					t.Fatal(err)
				}
				enginetest.Exec(t, conn, `select mbus4.at_create_consumer('q', $1, $2, false, '1')`, fmt.Sprint("s", i), text)
				// The same by its condition.
				enginetest.Exec(t, conn, `select mbus4.at_create_consumer('q', $1, $2, false, '1')`, fmt.Sprint("g", i), text)
				enginetest.Exec(t, conn, `update mbus4.consumer set asks_data = null where name = $1`, fmt.Sprint("g", i))
			}
			general(t, conn, "added", `case when t.added operator(pg_catalog.>) '2001-02-03'::pg_catalog.timestamp and t.delayed_until operator(pg_catalog.=) '2001-02-03 04:05:06.789012'::pg_catalog.timestamp
				and t.expires operator(pg_catalog.=) 'infinity'::pg_catalog.timestamp then 1 else 0 end`, false)
			enginetest.Exec(t, conn, called("create_consumer", "'q', 'added', 'added', false"))
			for _, settings := range []string{
				"set datestyle = 'ISO, YMD'", "set datestyle = 'SQL, DMY'", "set datestyle = 'SQL, MDY'", "set datestyle = 'German'", "set datestyle = 'Postgres, DMY'",
				"set standard_conforming_strings = off", "set backslash_quote = off", "set timezone = 'Pacific/Kiritimati'", "set intervalstyle = 'sql_standard'", "set extra_float_digits = -15",
				"set search_path = ''", "set bytea_output = 'escape'", "set client_encoding = 'SQL_ASCII'", "set client_encoding = 'WIN1251'", "set client_encoding = 'UTF8'", "set plan_cache_mode = force_generic_plan",
			} {
				enginetest.Exec(t, conn, settings)
				h := "public.hstore"
				data := h + `(array['back\slash', E'c:\\new ''x''', 'name', convert_from('\xd096'::bytea, 'UTF8')])`
				if strings.Contains(create, "SQL_ASCII") {
					data = h + `(array['back\slash', E'c:\\new ''x''', 'name', E'\xd0\x96'])`
				}
				data = strings.ReplaceAll(data, `'back\slash'`, `E'back\\slash'`)
				data = strings.ReplaceAll(data, `'\xd096'`, `E'\\xd096'`)
				enginetest.Exec(t, conn, `select mbus4.at_post('q', `+data+`, null, '2001-02-03 04:05:06.789012', 'infinity', '1')`)
				got := enginetest.One[string](t, conn, `select coalesce(string_agg(c.name, ' ' order by c.name), '') from mbus4.message m join mbus4.consumer c on c.id = m.consumer_id and c.name <> 'default'`)
				if got != "added g0 g1 s0 s1" {
					t.Errorf("%s: reaches %q", settings, got)
				}
				enginetest.Exec(t, conn, "delete from mbus4.message")
				enginetest.Exec(t, conn, "reset all; set client_encoding = 'UTF8'", pgx.QueryExecModeSimpleProtocol)
			}
		})
	}
}

// However many selectors are made and used, no row of the catalogues changes: no session has to plan anything anew.
func TestSelectorsChangeNoCatalogue(t *testing.T) {
	t.Parallel()
	name := enginetest.Installed(t)
	e := served.Open(t, engine.Options{})
	conn := enginetest.Connect(t, name)
	enginetest.Exec(t, conn, called("create_queue", "'q', 1"))
	const catalogues = `select concat_ws(' ', (select count(*) || ' ' || max(xmin::text::bigint) from pg_proc),
		(select count(*) || ' ' || max(xmin::text::bigint) from pg_class where oid >= 16384 and relkind <> 'S'))`
	db, err := e.Database(enginetest.Context(t), name)
	if err != nil {
		t.Fatal(err)
	}
	before := enginetest.One[string](t, conn, catalogues)
	for i := range 20 {
		text := fmt.Sprintf("(t.data->'n')::int > %d", i)
		if err := db.EnsureSelector(enginetest.Context(t), selectors.Use{Role: "postgres", Temporary: true, Text: text}); err != nil {
			t.Fatal(err)
		}
		enginetest.Exec(t, conn, "select mbus4.new_temporary_consumer('q', $1, 1)", text)
	}
	if after := enginetest.One[string](t, conn, catalogues); after != before {
		t.Errorf("the catalogues were %s and are %s", before, after)
	}
}
