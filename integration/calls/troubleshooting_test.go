package calls

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"mbusproxy/integration/internal/harness"
	"mbusproxy/integration/internal/programs"
)

const troubleshootingPath = "../../docs/troubleshooting.md"

// trouble is a database with a queue "orders" in which something goes wrong.
type trouble struct {
	t        *testing.T
	database string
	proxied  *pgconn.PgConn
}

func (tr *trouble) ask(sql string) string { return harness.Ask(tr.t, tr.proxied, sql) }

// session opens another session.
func (tr *trouble) session(name string) *pgconn.PgConn {
	conn := harness.Connect(tr.t, harness.Proxied(), tr.database)
	harness.Ask(tr.t, conn, "set application_name = '"+name+"'")
	return conn
}

// troubles make what the sections of docs/troubleshooting.md are about.
func troubles() map[string]func(tr *trouble) {
	return map[string]func(tr *trouble){
		"Messages are not delivered": func(tr *trouble) {
			tr.ask("select mbus4.create_consumer('orders', 'billing')")
			tr.ask("select mbus4.pause_queue('orders', 'billing')")
			tr.ask("select mbus4.post('orders', 'n=>1')")
			tr.ask("select mbus4.post('orders', 'n=>2', delayed_until => now() + interval '1 hour')")
			worker := tr.session("worker-7")
			harness.Ask(tr.t, worker, "begin")
			harness.Ask(tr.t, worker, "select * from mbus4.consume('orders')")
		},
		"Consume got slow": func(tr *trouble) {
			report := tr.session("monthly-report")
			harness.Ask(tr.t, report, "begin isolation level repeatable read")
			harness.Ask(tr.t, report, "select count(*) from pg_class")
			tr.ask("select mbus4.post('orders', 'n=>1') from generate_series(1, 4000)")
			tr.ask("select count(*) from mbus4.consumen('orders', amt => 4000)")
			harness.Await(tr.t, tr.proxied, "select n_dead_tup >= 3000 from pg_stat_user_tables where schemaname = 'mbus4' and relname = 'message'")
		},
		"The disk grows": func(tr *trouble) {
			tr.ask("select mbus4.create_consumer('orders', 'forgotten')")
			tr.ask("select mbus4.post('orders', 'n=>1') from generate_series(1, 10000)")
			tr.ask("select count(*) from mbus4.consumen('orders', amt => 10000)")
		},
		"The same message comes again": func(tr *trouble) {
			tr.ask("select mbus4.alter_consumer('orders', 'default', backoff => '1 hour')")
			tr.ask("select mbus4.post('orders', 'n=>1')")
			tr.ask("select mbus4.retry(lease, 'printer is on fire') from mbus4.lease('orders')")
		},
		"Messages land in dmq": func(tr *trouble) {
			tr.ask("select mbus4.post('orders', hstore('n', n::text)) from generate_series(1, 3) n")
			tr.ask("select mbus4.fail(lease, 'no such customer') from mbus4.lease('orders', amt => 2)")
			tr.ask("select mbus4.fail(lease, 'timeout') from mbus4.lease('orders', amt => 1)")
		},
		"A schedule does not tick": func(tr *trouble) {
			tr.ask("select mbus4.create_queue('reports', 1)")
			tr.ask("select mbus4.schedule('nightly', '* * * * * *', 'reports')")
			tr.ask("select mbus4.drop_queue('reports')")
			harness.Await(tr.t, tr.proxied, "select count(*) > 0 from mbus4.schedules where last_error is not null")
		},
	}
}

var sectionHeading = regexp.MustCompile(`(?m)^## (.+)$`)

// TestTroubleshooting makes each trouble and gets what docs/troubleshooting.md prints. Numbers of
// three digits and more differ from run to run.
func TestTroubleshooting(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile(troubleshootingPath)
	if err != nil {
		t.Fatal(err)
	}
	text, makers := string(b), troubles()
	path, _ := programs.FindPsql(t)
	heads := sectionHeading.FindAllStringSubmatchIndex(text, -1)
	written := text
	for i, h := range heads {
		end := len(text)
		if i+1 < len(heads) {
			end = heads[i+1][0]
		}
		examples := entryExample.FindAllStringSubmatch(text[h[1]:end], -1)
		name := text[h[2]:h[3]]
		if (len(examples) > 0) != (makers[name] != nil) {
			t.Errorf("%s: %d examples, and a way to make it: %t", name, len(examples), makers[name] != nil)
		}
		if len(examples) == 0 {
			continue
		}
		database := harness.NewQueueDatabase(t, "orders")
		tr := &trouble{t: t, database: database, proxied: harness.Connect(t, harness.Proxied(), database)}
		makers[name](tr)
		for _, x := range examples {
			got := programs.Run(t, []string{"PAGER=", "PGOPTIONS="}, x[1], t.TempDir(), "sh", "-c", `exec "$@" 2>&1`, "sh", path, "-X", "-d", harness.Proxied().URL(database))
			output := strings.TrimLeft(programs.Trim(mask(got.Stdout, database))+"\n", "\n")
			if *updateManual {
				written = strings.Replace(written, "```sql\n"+x[1]+"```\n\n```text\n"+x[2]+"```", "```sql\n"+x[1]+"```\n\n```text\n"+output+"```", 1)
			} else if vague(output) != vague(x[2]) {
				t.Errorf("%s\n%s\nthe manual (-) and psql (+):\n%s", name, x[1], harness.LineDiff(x[2], output))
			}
		}
		delete(makers, name)
	}
	for name := range makers {
		t.Errorf("%s is no section", name)
	}
	if *updateManual {
		if err := os.WriteFile(troubleshootingPath, []byte(written), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

var longNumber = regexp.MustCompile(`\d{3,}`)

func vague(output string) string { return longNumber.ReplaceAllString(narrow(output), "<n>") }
