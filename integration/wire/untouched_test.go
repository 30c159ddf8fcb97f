package wire

import (
	"fmt"
	"testing"

	"mbusproxy/integration/internal/forms"
	"mbusproxy/integration/internal/harness"
)

// Statements that only mention mbus4 are forwarded as they are: same rows, same errors, same
// places of the errors.
func TestUntouched(t *testing.T) {
	t.Parallel()
	database := harness.NewQueueDatabase(t, "q")
	setup := harness.Connect(t, harness.Direct(), database)
	harness.Ask(t, setup, `create table mentions (mbus4 text, "mbus4.post" int); insert into mentions values ('mbus4.consume(1)', 7);
		create table plain (id int)`)
	statements := []string{
		"select 'mbus4.post(''q'', ''a=>1'')'",
		"select 1 /* mbus4.consume('q') */ + 1 -- mbus4.post(",
		"select $$mbus4.consume('q')$$, $mbus4$mbus4.take(1)$mbus4$",
		`select E'mbus4.post(\'q\')', U&'mbus4\002epost()'`,
		`select "mbus4", "mbus4.post" from mentions`,
		"select mbus4 from mentions",
		"select mbus4.mbus4, mbus4.\"mbus4.post\" from mentions mbus4",
		"select m.mbus4 as post from mentions m where m.mbus4 = 'mbus4.consume(1)'",
		"select mbus4 from mentions where mbus4 like '%mbus4.%'",
		`select "mbus4.consume"('q')`,
		"select post('q', 'mbus4')",
		"select public.mbus4(1)",
		"select 'mbus4' +",
		"select mbus4.nosuch from mentions",
		"select nosuch /* mbus4.post('ä') */ from mentions",
		"/* mbus4 'ä' */ select\n nosuch",
		"select 'unterminated mbus4.post(",
		"select /* mbus4.post( ",
		"select 1; select 'mbus4.post()'; select 3",
		"select 'mbus4' as a; select nosuch",
		"do $$ begin raise notice 'mbus4.post(%)', 1; end $$",
		"do $$ begin raise exception 'mbus4.post(%)', 1; end $$",
		"prepare mbus4 as select 'mbus4.post()'",
		"execute mbus4",
		"deallocate mbus4",
		"set application_name = 'mbus4.post()'",
		"show application_name",
		"reset application_name",
		"comment on table mentions is 'mbus4.post()'",
		"select obj_description('mentions'::regclass)",
		"select nspname from pg_namespace where nspname = 'mbus4'",
		"select count(*) > 0 from pg_class where relnamespace = 'mbus4'::regnamespace",
		"select count(*) from mbus4.message",
		"select null::mbus4.qt_model is null",
		"select (row(1, now(), 'i', null, null, null, '', '', 'a=>1')::mbus4.qt_model).iid",
		"create temp table copied (like mentions); insert into copied table mentions; select mbus4 from copied; drop table copied",
		"notify mbus4, 'mbus4.post()'",
		"begin; savepoint mbus4; select 1/0; rollback to mbus4; commit",
		"rollback",
		"",
		";",
		"-- mbus4.post('q')",
	}
	d, p := harness.Connect(t, harness.Direct(), database), harness.Connect(t, harness.Proxied(), database)
	ctx := harness.Context(t)
	for _, f := range forms.All() {
		for _, sql := range statements {
			viaDirect, directErr := f.Run(ctx, d, forms.Do(sql))
			viaProxy, proxyErr := f.Run(ctx, p, forms.Do(sql))
			if viaDirect != viaProxy || harness.Describe(directErr) != harness.Describe(proxyErr) {
				t.Errorf("%s %q:\n  direct %q %s\n proxied %q %s", f.Name, sql,
					viaDirect, harness.Describe(directErr), viaProxy, harness.Describe(proxyErr))
			}
			if d.TxStatus() != p.TxStatus() {
				t.Errorf("%s %q: transaction status %q direct, %q proxied", f.Name, sql, d.TxStatus(), p.TxStatus())
			}
			if d.IsClosed() || p.IsClosed() {
				t.Fatalf("%s %q: the session is closed", f.Name, sql)
			}
		}
	}
}

// Big texts and big results that mention mbus4 pass through whole.
func TestUntouchedAndBig(t *testing.T) {
	t.Parallel()
	database := harness.NewDatabase(t)
	ctx := harness.Context(t)
	var saw []string
	for _, e := range harness.Both() {
		conn := harness.Connect(t, e, database)
		for _, f := range forms.All() {
			got, err := f.Run(ctx, conn,
				forms.Do(fmt.Sprintf("select md5('mbus4.post(%01000000d)')", 1)),
				forms.Do("select md5($1)", fmt.Sprintf("mbus4.consume(%02000000d)", 2)),
				forms.Do("select length(repeat('mbus4', 1000000)), repeat('mbus4.', 100000)"))
			saw = append(saw, fmt.Sprint(got, harness.Describe(err)))
		}
	}
	for i, got := range saw {
		if got != saw[0] || len(got) < 600_000 {
			t.Errorf("%d: %d bytes %.200q; want %d bytes", i, len(got), got, len(saw[0]))
		}
	}
}
