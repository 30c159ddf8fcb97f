package security

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"mbusproxy/integration/internal/harness"
)

// Whoever owns a database says in which schemas its sessions look for names first. What a
// superuser's commands, console and calls do there is not his to say.
func TestShadowedByTheOwner(t *testing.T) {
	t.Parallel()
	role := "console" + fmt.Sprint(len(t.Name()))
	harness.Admin(t, "create role "+role)
	t.Cleanup(func() { harness.Admin(t, "drop role "+role) })
	proxy := harness.NewProxy(t, "--console-role", role)
	database := harness.NewQueueDatabase(t, "q", "other")
	conn := harness.Connect(t, harness.Proxied(), database)
	harness.Ask(t, conn, "select mbus4.post('q', hstore('id', n::text), iid => 'm' || n) from generate_series(1, 20) n")
	harness.Ask(t, conn, "select mbus4.fail(lease, 'no good') from mbus4.lease('q', amt => 6)")
	harness.Ask(t, conn, "select mbus4.schedule('s', '0 0 1 1 *', 'q', 'a=>1')")
	direct := harness.Connect(t, harness.Direct(), database)
	harness.Ask(t, direct, harness.Shadow)
	if n := harness.Ask(t, direct, "select count(*) > 1000 from pg_proc where pronamespace = 'evil'::regnamespace"); n != "t" {
		t.Fatal("there is little in the way")
	}
	harness.Ask(t, direct, "alter database "+database+" set search_path = evil, pg_catalog, public")
	t.Cleanup(func() { harness.Admin(t, "alter database "+database+" reset search_path") })
	fresh := harness.Connect(t, harness.Direct(), database)
	if _, err := harness.Query(harness.Context(t), fresh, "select 1 = 1"); err == nil || !strings.Contains(err.Error(), "SHADOWED") {
		t.Fatalf("nothing is in the way: %v", err)
	}

	dsn := proxy.Endpoint.DSN(database)
	for _, command := range []string{
		"queues", "queues q", "top", "peek q", "peek q --state dead", "peek --iid m9", "why m9", "dead list", "dead list q --since 2020-01-01 --until 2120-01-01", "dead list --selector true",
		"dead redrive q --yes --selector (t.data->'id')='1'", "dead undo 1", "dead purge --yes", "post q {}", "post q {} --delay 1h --header a=b --property c=d --expires-in 2h --iid z", "post q --data a=>1",
		"consume q", "consume q --count 3 --wait 1s", "queues --output json", "__complete queues o", "bench --duration 100ms --rate 10 --consumers 1 --posters 1",
	} {
		out, err := exec.CommandContext(t.Context(), harness.Binary(), append(strings.Fields(command), "--dsn", dsn)...).CombinedOutput()
		if strings.Contains(command, "__complete") {
			out, err = exec.CommandContext(t.Context(), harness.Binary(), append([]string{"__complete", "queues", "--dsn", dsn}, "o")...).CombinedOutput()
		}
		if err != nil || strings.Contains(string(out), "SHADOWED") {
			t.Errorf("%s: %v\n%s", command, err, out)
		}
	}
	out, err := exec.CommandContext(t.Context(), harness.Binary(), "doctor", "--upstream", harness.Direct().DSN(database), "--admin", harness.Direct().DSN(database)).CombinedOutput()
	if strings.Contains(string(out), "SHADOWED") {
		t.Errorf("doctor: %v\n%s", err, out)
	}
	console, err := pgconn.Connect(harness.Context(t), proxy.Endpoint.DSN("mbusproxy/"+database))
	if err != nil {
		t.Fatal(err)
	}
	defer harness.Close(console)
	help, err := console.Exec(harness.Context(t), "show help").ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	commands := []string{"PAUSE q", "RESUME q", "KILL 1"}
	for _, row := range help[0].Rows {
		if strings.HasPrefix(string(row[0]), "SHOW ") {
			commands = append(commands, string(row[0]))
		}
	}
	for _, command := range commands {
		if _, err := console.Exec(harness.Context(t), command).ReadAll(); err != nil && (command != "KILL 1" || strings.Contains(err.Error(), "SHADOWED")) {
			t.Errorf("console: %s: %v", command, err)
		}
	}
}
