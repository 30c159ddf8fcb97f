package statements

import (
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"mbusproxy/integration/internal/forms"
	"mbusproxy/integration/internal/harness"
)

// Without the option, and for names that are not in its list, texts without the schema go through as they are.
func TestUnqualifiedOff(t *testing.T) {
	t.Parallel()
	some := unqualifiedProxy(t, "post,consume_*_by_*,run_on_*")
	for _, f := range forms.All() {
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			database := harness.NewQueueDatabase(t, "q")
			d, off, listed := harness.Connect(t, harness.Direct(), database), harness.Connect(t, harness.Proxied(), database), harness.Connect(t, some, database)
			for _, conn := range []*pgconn.PgConn{d, off, listed} {
				harness.Ask(t, conn, "set search_path to mbus4, public")
			}
			same := func(conn *pgconn.PgConn, statements ...string) {
				t.Helper()
				for _, sql := range statements {
					_, directErr := f.Run(harness.Context(t), d, forms.Do(sql))
					_, proxyErr := f.Run(harness.Context(t), conn, forms.Do(sql))
					if directErr == nil || harness.Describe(directErr) != harness.Describe(proxyErr) {
						t.Errorf("%s: direct %s, proxied %s", sql, harness.Describe(directErr), harness.Describe(proxyErr))
					}
				}
			}
			same(off, "select post('q', 'a=>1')", "select * from consume('q')", "call process_queue(1)", "select /* ä */ peek_q()", "select post")
			same(listed, "select * from consume('q')", "select post_q('a=>1')", "select peek_q()", "select run_q('select 1')", "call process_queue(1)")
			s := &forms.Session{Form: f, Conn: listed, Database: database}
			s.Want(t, "i", "select post('q', 'a=>1', iid => 'i')")
			s.Want(t, "i", "select iid from consume_q_by_default()")
			s.Want(t, "0", "select run_on_q('select 1')")
		})
	}
}

// lookalikes hold what looks like a call and is none, and calls that are the client's own. app is a schema
// at the front of the path.
var lookalikes = []string{
	"create table post (a int, b int, consume int)",
	"insert into post (a, b) values (1, 2), (3, 4)",
	"insert into app.post (a) values (5)",
	"insert into post(a, b) select a, b from post",
	"select * from post order by a, b",
	"select a from (values (1)) as post(a)",
	"select * from post as take(x, y, z) order by 1",
	"with peek(a) as (select 1) select a from peek",
	"with recursive take(n) as (select 1 union all select n + 1 from take where n < 3) select n from take",
	"select sum(a) over post from post window post as (partition by b) order by 1",
	"select count(*) filter (where a > 1) from post",
	"create index post_a on post (a)",
	"create index on post (consume(a))",
	"create index on post (abs(a))",
	"create table take (x consume(3))",
	"select '1'::consume(3)",
	"select cast('1' as consume(3))",
	"select consume(3) '1'",
	"create table peek (a int, check (take(a) > 0))",
	"create table peek (a int default get_iid('q'))",
	"create view consume as select peek('x')",
	"create function f() returns text language sql begin atomic select post('q', 'a=>1'); end",
	"create function app.post_q(x int) returns int language sql as 'select 1 /* post(2) */'",
	"drop function post_q(int)",
	"drop function post_q(int)",
	"alter function post(text) owner to postgres",
	"comment on function take(text) is 'x'",
	"grant execute on function consume(text) to public",
	"create trigger post after insert on post execute function post()",
	"create type consume as (a int, b int)",
	"select row(1, 2)::consume, (row(1, 2)::consume).a",
	"select post.a from post where post.a in (3) order by 1",
	"update post set (a, b) = (7, 8) where a = 5",
	"select 'post(''q'')', $$consume('q')$$, 1 -- take('x')",
	"select /* post('q', 'a=>1') */ 1",
	`select "post(" from (select 1) as x("post(")`,
	`select "consume"."consume('q')" from (select 1 as "consume('q')") consume`,
	"select a as post from post group by (a) order by (a) limit (1)",
	"select exists (select from post), array(select a from post order by a)",
	"create table other (like post)",
	"prepare post(int) as select $1",
	"execute post(5)",
	"deallocate post",
	"create procedure app.take_all(x int) language sql as 'select 1'",
	"call take_all(1)",
	"select post(a, b from post",
	"select post('q', 'a=>1'",
	"select * from post(1, 2, 3)",
	"select 'ä', * from post(1, 2, 3)",
	"listen post",
	"explain (costs off) select * from post",
	"begin; lock table post; savepoint post; rollback",
	"rollback",
	"do $$ begin raise notice 'post(%)', 1; end $$",
	"do $$ begin perform post(1); end $$",
	"create function app.post(a int) returns text language sql immutable as $$ select 'theirs ' || a $$",
	"select post(1), post(a => 2), (post(3)), (select post(4)), post(x) from (values (5)) v(x) where post(x) <> ''",
	"select * from post(1), lateral post(length(post)) as p(consume)",
	"create index on post (post(a))",
	"create view v as select post(a) from post order by 1",
	"select * from v",
}

// What looks like a call and is none is the server's: same rows, same errors, same places of them.
func TestUnqualifiedLookalikes(t *testing.T) {
	t.Parallel()
	e := unqualifiedProxy(t, "all")
	database := harness.NewQueueDatabase(t, "q")
	d, p := harness.Connect(t, harness.Direct(), database), harness.Connect(t, e, database)
	ctx := harness.Context(t)
	for _, f := range forms.All() {
		for conn, schema := range map[*pgconn.PgConn]string{d: "app_d", p: "app_p"} { // as long as each other
			harness.Ask(t, conn, "deallocate all; drop schema if exists "+schema+" cascade; create schema "+schema+"; set search_path to "+schema+", mbus4, public")
			clear(conn.CustomData())
		}
		for _, sql := range lookalikes {
			viaDirect, directErr := f.Run(ctx, d, forms.Do(strings.ReplaceAll(sql, "app.", "app_d.")))
			viaProxy, proxyErr := f.Run(ctx, p, forms.Do(strings.ReplaceAll(sql, "app.", "app_p.")))
			saw := ourHint.ReplaceAllString(strings.ReplaceAll(harness.Describe(proxyErr), "app_p", "app_d"), "")
			if viaDirect != viaProxy || harness.Describe(directErr) != saw {
				t.Errorf("%s %q:\n  direct %q %s\n proxied %q %s", f.Name, sql, viaDirect, harness.Describe(directErr), viaProxy, saw)
			}
			if d.TxStatus() != p.TxStatus() {
				t.Errorf("%s %q: transaction status %q direct, %q proxied", f.Name, sql, d.TxStatus(), p.TxStatus())
			}
		}
	}
}

// ourHint is what the proxy adds to the hint about a function that is not there.
var ourHint = regexp.MustCompile(` ?If mbus4\.\w+ is meant, [^"]*`)
