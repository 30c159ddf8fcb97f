package statements

import (
	"strings"
	"testing"

	"mbusproxy/integration/internal/harness"
)

// Whatever a statement stores holds no call, of whatever function: it is refused with a form that
// works, and nothing of what serves calls gets into the database.
func TestNothingIsStored(t *testing.T) {
	t.Parallel()
	database := harness.NewQueueDatabase(t, "q")
	conn := harness.Connect(t, harness.Proxied(), database)
	harness.Ask(t, conn, `create table t (id int primary key, k text);
		create view w as select 1 as x; create domain word as text; create sequence s;
		create function f(x text) returns boolean immutable language sql as 'select true';
		create function g() returns trigger language plpgsql as 'begin return new; end'; create table parts (k text) partition by list (k)`)
	value := []string{
		"mbus4.peek_q()", "mbus4.is_msg_exists('x')", "(mbus4.peek('x') is null)", "(mbus4.get_iid('q') = '')", "(mbus4.readme() = '')",
		"(mbus4.post('q', 'a=>1') is null)", "(mbus4.take('x') is null)", "(mbus4.clear_queue_q() is null)", "(mbus4.estimated_messages('q') = 0)",
		"(mbus4.create_temporary_queue() = '')", "(mbus4.run_on_q('select 1') = 0)", "(mbus4.create_view('q') is null)",
		"(mbus4.create_consumer('q', 'c', 'true') is null)", "(mbus4.regenerate_functions() is null)",
	}
	// CALL stands for an expression, ROWS for a query.
	statements := []string{
		"create view v as ROWS",
		"create or replace view w as select 1 as x where CALL",
		"create temporary view v as ROWS",
		"create recursive view v (x) as select true union all ROWS",
		"create view v with (security_barrier) as with r as (ROWS) select * from r",
		"create view v as select (select CALL) as x from t",
		"create materialized view v as ROWS",
		"create materialized view v as ROWS with no data",
		"explain create materialized view v as ROWS",
		"create schema made create view v as ROWS",
		"create schema made create table d (x boolean default CALL)",
		"create rule r as on insert to t do instead ROWS",
		"create rule r as on insert to t where CALL do also select 1",
		"create rule r as on insert to t do also insert into t select 1 where CALL",
		"create function made() returns boolean begin atomic ROWS; end",
		"create function made() returns boolean return CALL",
		"create function made(x boolean default CALL) returns int language sql as 'select 1'",
		"create procedure made() begin atomic ROWS; end",
		"create procedure made(x boolean default CALL) language sql as 'select 1'",
		"create table d (x boolean default CALL)",
		"create table d (x boolean check (CALL))",
		"create table d (x text, constraint c check (x <> '' and CALL))",
		"create table d (x boolean generated always as (CALL) stored)",
		"create table d (k text, exclude using btree (k with =) where (CALL))",
		"create table d (like t) partition by list ((CALL))",
		"create table d partition of parts for values in (CALL)",
		"create foreign table d (x boolean default CALL) server nowhere",
		"alter table t add x boolean default CALL",
		"alter table t add constraint c check (CALL)",
		"alter table t alter k set default CALL",
		"alter table t alter k type boolean using CALL",
		"alter table t add exclude using btree (k with =) where (CALL)",
		"alter view w alter x set default CALL",
		"create index i on t ((CALL))",
		"create index i on t (k) where CALL",
		"create unique index concurrently i on t ((CALL))",
		"create statistics made on (CALL), k from t",
		"create trigger r before update on t for each row when (CALL) execute function g()",
		"create policy p on t using (CALL)",
		"create policy p on t with check (CALL)",
		"create domain d as boolean default CALL",
		"create domain d as text check (CALL)",
		"alter domain word set default CALL",
		"alter domain word add check (CALL)",
		"create publication p for table t where (CALL)",
	}
	for _, one := range statements {
		for _, call := range value {
			sql := strings.ReplaceAll(strings.ReplaceAll(one, "ROWS", "select "+call+" as x"), "CALL", call)
			wantStoredRefusal(t, harness.Refusal(t, conn, "0A000", sql).Hint, sql)
		}
		if strings.Contains(one, "ROWS") {
			for _, rows := range []string{"select mbus4.consume('q')", "select iid from mbus4.consumen_q_by_default(2)", "table t limit (mbus4.peek('x')).id"} {
				sql := strings.ReplaceAll(one, "ROWS", rows)
				wantStoredRefusal(t, harness.Refusal(t, conn, "0A000", sql).Hint, sql)
			}
		}
	}
	past := harness.Connect(t, harness.Direct(), database)
	harness.Want(t, past, "0", `select count(*) from (
		select pg_get_viewdef(c.oid) from pg_class c where c.relkind in ('v', 'm')
		union all select pg_get_ruledef(oid) from pg_rewrite
		union all select pg_get_functiondef(oid) from pg_proc where prokind in ('f', 'p') and pronamespace = 'public'::regnamespace
		union all select pg_get_expr(adbin, adrelid) from pg_attrdef
		union all select pg_get_constraintdef(oid) from pg_constraint
		union all select pg_get_indexdef(indexrelid) from pg_index
		union all select pg_get_triggerdef(oid) from pg_trigger
		) stored (text) where text ~ 'mbus4[.]at_|mbus4-error|mbus4-refusal|mbus4_call|peek|get_iid'`)
	harness.Want(t, past, "t", "select not exists (select from pg_class where relname in ('v', 'd')) and not exists (select from pg_namespace where nspname = 'made')")
}

func wantStoredRefusal(t *testing.T, hint, sql string) {
	t.Helper()
	if hint == "" {
		t.Errorf("%s: no hint", sql)
	}
}

// What runs a statement once and stores its rows, or stores the client's own text, works.
func TestStatementsThatStoreRows(t *testing.T) {
	t.Parallel()
	database := harness.NewQueueDatabase(t, "q")
	conn := harness.Connect(t, harness.Proxied(), database)
	harness.Ask(t, conn, "select mbus4.post('q', 'n=>1', iid => 'm')")
	harness.Ask(t, conn, "create table a as select mbus4.peek_q() as x; select mbus4.peek_q() as x into b; create table c as select (mbus4.peek('m')).iid")
	harness.Ask(t, conn, "prepare p as select mbus4.peek_q() and $1; create table d as execute p (true)")
	harness.Want(t, conn, "t|t|m|t", "select * from a, b, c, d")
	harness.Ask(t, conn, "create table e (x) as select iid from mbus4.consume('q') with data")
	harness.Want(t, conn, "m|f", "select x, mbus4.peek_q() from e")
}
