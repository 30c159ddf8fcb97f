package clients

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"mbusproxy/integration/internal/harness"
	"mbusproxy/integration/internal/programs"
)

// worker runs a program of examples/worker: it works off what is posted, sends back what fails, and
// ends on SIGTERM while it waits.
func worker(t *testing.T, name string, env []string, dsn func(harness.Endpoint, string) string, program string, args ...string) {
	t.Helper()
	database := harness.NewQueueDatabase(t, "orders")
	proxied, direct := harness.Connect(t, harness.Proxied(), database), harness.Connect(t, harness.Direct(), database)
	harness.Ask(t, direct, "create table done (worker text, n int check (n <> 2))")
	harness.Ask(t, proxied, "select mbus4.alter_consumer('orders', 'default', max_attempts => 2, backoff => '100ms', max_backoff => '100ms')")
	harness.Ask(t, proxied, "select mbus4.post('orders', hstore('n', n::text)) from generate_series(1, 3) n")
	cmd := exec.CommandContext(harness.Context(t), program, append(args, dsn(harness.Proxied(), database))...)
	cmd.Env = append(os.Environ(), env...)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(said.String())
		}
	})
	ended := make(chan error, 1)
	exited := make(chan struct{})
	go func() { ended <- cmd.Wait(); close(exited) }()
	defer func() { // it has ended, unless the test fails
		_ = cmd.Process.Kill()
		<-exited
	}()
	// One order fails twice, and lies in dmq then.
	harness.Await(t, direct, "select (select count(*) from done) = 2 and (select count(*) from mbus4.message m where m.consumer_id = 1) = 1")
	harness.Ask(t, proxied, "select mbus4.post('orders', 'n=>4')")
	harness.Await(t, direct, "select exists (select from done where worker = $1 and n = 4)", name)
	harness.Await(t, direct, "select exists (select from pg_stat_activity where datname = current_database() and state like 'idle%' and query like '%at_await%')")
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("%v\n%s", err, said.String())
		}
	case <-time.After(harness.AskLimit):
		t.Errorf("it does not end\n%s", said.String())
	}
	harness.Want(t, direct, "1|3|4", "select string_agg(n::text, '|' order by n) from done")
	harness.Want(t, direct, "2", "select headers->'retry.attempt' from mbus4.message")
}

const workers = "../../examples/worker/"

func TestWorkerPsycopg2(t *testing.T) {
	t.Parallel()
	programs.NeedPython(t, "psycopg2", "python3-psycopg2")
	worker(t, "psycopg2", nil, harness.Endpoint.DSN, programs.Python, workers+"psycopg2_worker.py")
}

func TestWorkerPsycopg3(t *testing.T) {
	t.Parallel()
	programs.NeedPython(t, "psycopg", "python3-psycopg")
	worker(t, "psycopg3", nil, harness.Endpoint.DSN, programs.Python, workers+"psycopg3_worker.py")
}

func TestWorkerNode(t *testing.T) {
	t.Parallel()
	node, modules := nodePostgres(t)
	worker(t, "node", []string{"NODE_PATH=" + modules}, harness.Endpoint.URL, node, workers+"node_worker.js")
}

func TestWorkerPgx(t *testing.T) {
	t.Parallel()
	binary := filepath.Join(t.TempDir(), "pgx")
	if got := programs.Run(t, nil, "", "", programs.Find(t, "go", "Go"), "build", "-o", binary, "mbusproxy/examples/worker/go"); got.Status != 0 {
		t.Fatal(got.Stderr)
	}
	worker(t, "pgx", nil, harness.Endpoint.DSN, binary)
}

func TestWorkerJDBC(t *testing.T) {
	t.Parallel()
	programs.NeedFile(t, jdbcDriver, "libpostgresql-jdbc-java")
	java := programs.Find(t, "java", "a JDK (default-jdk-headless)")
	dsn := func(e harness.Endpoint, database string) string {
		return fmt.Sprintf("jdbc:postgresql://%s:%d/%s?user=postgres&sslmode=disable", e.Host, e.Port, database)
	}
	worker(t, "jdbc", nil, dsn, java, "-Xshare:auto", "-XX:TieredStopAtLevel=1", "-cp", jdbcDriver, workers+"JdbcWorker.java")
}

func TestWorkerPDO(t *testing.T) {
	t.Parallel()
	php := programs.Find(t, "php", "php-cli")
	if got := programs.Run(t, nil, "", "", php, "-r", "exit(extension_loaded('pdo_pgsql') && extension_loaded('pcntl') ? 0 : 1);"); got.Status != 0 {
		t.Fatal("PHP lacks pdo_pgsql or pcntl: install php-pgsql")
	}
	dsn := func(e harness.Endpoint, database string) string {
		return fmt.Sprintf("pgsql:host=%s;port=%d;user=postgres;dbname=%s;sslmode=disable", e.Host, e.Port, database)
	}
	worker(t, "pdo", nil, dsn, php, workers+"pdo_worker.php")
}
