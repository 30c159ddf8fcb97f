package clients

import (
	"strings"
	"testing"

	"mbusproxy/integration/internal/harness"
	"mbusproxy/integration/internal/programs"
)

func TestPsqlDescribe(t *testing.T) {
	t.Parallel()
	database := harness.NewQueueDatabase(t, "q")
	wantPsql(t, database, `
select mbus4.consume('q') \gdesc
select mbus4.post('q', 'a=>1') \gdesc
select mbus4.create_queue('r', 1), mbus4.is_msg_exists('x') \gdesc
select * from mbus4.consumen('q', 'default', 3) \gdesc
select m, m.iid as message, now() - m.added as age from mbus4.peek('x') m \gdesc
select (mbus4.take('x')).* \gdesc
`, `
consume|mbus4.qt_model
post|text
create_queue|void
is_msg_exists|boolean
id|bigint
added|timestamp without time zone
iid|text
delayed_until|timestamp without time zone
expires|timestamp without time zone
received|integer[]
headers|hstore
properties|hstore
data|hstore
m|mbus4.qt_model
message|text
age|interval
id|bigint
added|timestamp without time zone
iid|text
delayed_until|timestamp without time zone
expires|timestamp without time zone
received|integer[]
headers|hstore
properties|hstore
data|hstore
`, "", "-At")
}

// \watch runs a statement again and again; an error ends it, and takes back its own message only.
func TestPsqlWatch(t *testing.T) {
	t.Parallel()
	database := harness.NewQueueDatabase(t, "q")
	wantPsql(t, database, `
create temp sequence round;
select mbus4.post('q', hstore('n', n::text), iid => 'm' || n) from generate_series(1, 5) n;
select 6 / (4 - nextval('round')) as left, iid from mbus4.consume('q')
\watch 0.01
select iid from mbus4.consumen('q', amt => 10);
`, `
m1
m2
m3
m4
m5
2|m1
3|m2
6|m3

m4
m5
`, "ERROR:  division by zero", "-At")
}

// \bind came with psql 16; the server-prepared protocol of older ones is covered by the drivers.
func TestPsqlBind(t *testing.T) {
	t.Parallel()
	database := harness.NewQueueDatabase(t, "q")
	if _, major := programs.FindPsql(t); major < 16 {
		got := programs.Psql(t, harness.Proxied(), database, "select 1 \\bind 1 \\g\n")
		if !strings.HasPrefix(got.Stderr, `invalid command \bind`) {
			t.Errorf("psql %d is taken to have no \\bind, but: %q", major, got.Stderr)
		}
		return
	}
	wantPsql(t, database, `
select mbus4.post($1, $2, iid => $3) \bind q 'a=>1' bound \g
select iid, data from mbus4.consume($1) \bind q \g
`, "bound\nbound|\"a\"=>\"1\"", "", "-At")
}

func TestPsqlCopyWithCalls(t *testing.T) {
	t.Parallel()
	database := harness.NewQueueDatabase(t, "q")
	wantPsql(t, database, `
create table outbox (n int, iid text);
\copy outbox(n) from stdin
1
2
\.
insert into outbox select n, mbus4.post('q', hstore('n', n::text), iid => 'm' || n) from generate_series(3, 4) n;
\copy (select n, iid from outbox order by n) to stdout with (format csv)
\copy (select iid, data from mbus4.consumen('q', amt => 5) order by iid) to 'messages.tsv'
select count(*) from mbus4.consumen('q', amt => 5);
\! cat messages.tsv
copy (select mbus4.post('q', 'a=>1', iid => 'copied')) to stdout;
select iid from mbus4.consume('q');
`, `
1,
2,
3,m3
4,m4
0
m3	"n"=>"3"
m4	"n"=>"4"
copied
copied
`, "", "-At")
}

// Errors point into the text that the client wrote, not into what the server was given.
func TestPsqlErrorPosition(t *testing.T) {
	t.Parallel()
	database := harness.NewQueueDatabase(t, "q")
	noHstore := programs.Psql(t, harness.Direct(), database, "select hstore 'not an hstore';", "-At")
	hstoresWords, _, ok := strings.Cut(noHstore.Stderr, "\nLINE 1:") // another major, other words
	if !ok {
		t.Fatal(noHstore.Stderr)
	}
	for _, c := range []struct{ script, stderr string }{
		{
			"select mbus4.post('q', 'a=>1'), nosuch;",
			`
ERROR:  column "nosuch" does not exist
LINE 1: select mbus4.post('q', 'a=>1'), nosuch;
                                        ^`,
		},
		{
			"select iid,\n  m.nosuch\nfrom mbus4.consume('q') m;",
			`
ERROR:  column m.nosuch does not exist
LINE 2:   m.nosuch
          ^`,
		},
		{
			"select 'größer', mbus4.post('q', 'ä=>1', nosuch => 1), 2 +* 3;",
			`
ERROR:  function mbus4.post(unknown, unknown, nosuch => integer) does not exist
LINE 1: select 'größer', mbus4.post('q', 'ä=>1', nosuch => 1), 2 +* ...
                         ^
DETAIL:
HINT:`,
		},
		{
			"select 1 from mbus4.consume('q') where mbus4.consume('q') is not null;",
			`
ERROR:  set-returning functions are not allowed in WHERE
LINE 1: select 1 from mbus4.consume('q') where mbus4.consume('q') is...
                                               ^
HINT:  Call it in FROM, for example: … where exists (select from mbus4.consume(…)).`,
		},
		{
			"/* mbus4 */ select * from mbus4.consume('q') m join nosuch n on true;",
			`
ERROR:  relation "nosuch" does not exist
LINE 1: ... mbus4 */ select * from mbus4.consume('q') m join nosuch n o...
                                                             ^`,
		},
		{
			"select mbus4.post('q', 'not an hstore');",
			hstoresWords + `
LINE 1: select mbus4.post('q', 'not an hstore');
                               ^
HINT:  Data, headers and properties are of type hstore: write 'a=>1, b=>2' or hstore('a', '1').`,
		},
	} {
		t.Run(c.script, func(t *testing.T) {
			t.Parallel()
			got := programs.Psql(t, harness.Proxied(), database, c.script, "-At")
			if !linesBegin(programs.Trim(got.Stderr), programs.Trim(c.stderr)) || got.Stdout != "" {
				t.Errorf("stderr:\n%s\nstdout: %q", harness.LineDiff(programs.Trim(c.stderr), programs.Trim(got.Stderr)), got.Stdout)
			}
			if got := programs.Psql(t, harness.Proxied(), database, "select count(*) from mbus4.consume('q')", "-At"); got.Stdout != "0\n" {
				t.Errorf("the failed statement left a message: %q %q", got.Stdout, got.Stderr)
			}
		})
	}
}
