package pgcluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// dataParent is a folder that the server's account can reach; t.TempDir's are closed to it.
func dataParent(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "mbuspg-test-")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func start(t *testing.T, cfg Config) *Cluster {
	t.Helper()
	cfg.throwAway = true
	c, err := Start(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(t, c) })
	return c
}

func stop(t *testing.T, c *Cluster) {
	t.Helper()
	if err := c.Stop(context.Background()); err != nil {
		t.Error(err)
	}
	if alive(c.PID()) {
		t.Errorf("process %d is still there after Stop", c.PID())
	}
}

func queryString(t *testing.T, dsn, sql string) string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	var s string
	if err := conn.QueryRow(t.Context(), sql).Scan(&s); err != nil {
		t.Fatal(err)
	}
	return s
}

func exec1(t *testing.T, dsn, sql string) {
	t.Helper()
	conn, err := pgconn.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	if _, err := conn.Exec(t.Context(), sql).ReadAll(); err != nil {
		t.Fatal(err)
	}
}

func wantError(t *testing.T, err error, kind Kind, parts ...string) {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("got %v (%T), want an *Error", err, err)
	}
	if e.Kind != kind {
		t.Errorf("kind %d, want %d: %v", e.Kind, kind, err)
	}
	all := e.Message + "\n" + e.Hint
	for _, part := range parts {
		if !strings.Contains(all, part) {
			t.Errorf("error does not mention %q:\n%s", part, all)
		}
	}
}

func TestTempIsUTF8AndGoesAway(t *testing.T) {
	t.Parallel()
	c, err := Temp(Config{Settings: map[string]string{"application_name": `it's a \ name`, "work_mem": "5MB"}})
	if err != nil {
		t.Fatal(err)
	}
	got := queryString(t, c.DSN("postgres"), `select concat_ws(' ', current_user, current_setting('server_encoding'),
		current_setting('fsync'), current_setting('work_mem'), current_setting('port'))`)
	if want := fmt.Sprintf("postgres UTF8 off 5MB %d", c.Port()); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	viaSocket := fmt.Sprintf("host=%s port=%d user=postgres dbname=postgres", c.SocketDir(), c.Port())
	if got := queryString(t, viaSocket, "select 'here'"); got != "here" {
		t.Errorf("over the socket: %q", got)
	}
	if n := len(c.SocketDir()) + len("/.s.PGSQL.65535"); n >= 100 {
		t.Errorf("socket path of %d bytes", n)
	}
	exec1(t, c.DSN("postgres"), "create extension hstore")
	stop(t, c)
	stop(t, c) // repeats harmlessly
	for _, dir := range []string{c.Dir(), filepath.Dir(c.Dir()), c.SocketDir()} {
		if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is still there: %v", dir, err)
		}
	}
}

func TestDataIsKeptBetweenRuns(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(dataParent(t), "deep", "data")
	c := start(t, Config{Dir: dir})
	exec1(t, c.DSN("postgres"), "create table kept as select 'x' as v")
	stop(t, c)
	c = start(t, Config{Dir: dir})
	if got := queryString(t, c.DSN("postgres"), "select v from kept"); got != "x" {
		t.Errorf("got %q", got)
	}
}

func TestCrashThenStartAgain(t *testing.T) {
	t.Parallel()
	c, err := Temp(Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer stop(t, c)
	exec1(t, c.DSN("postgres"), "create table kept as select 'x' as v")
	c.Kill()
	select {
	case <-c.Done():
	default:
		t.Fatal("the server is still there after Kill")
	}
	again := start(t, Config{Dir: c.Dir(), Port: c.Port()})
	if got := queryString(t, again.DSN("postgres"), "select v from kept"); got != "x" {
		t.Errorf("got %q", got)
	}
	stop(t, again)
}

func TestRulesAndCertificateOfThisRun(t *testing.T) {
	t.Parallel()
	cert, key := writeCertificate(t)
	c := start(t, Config{
		Dir:     filepath.Join(dataParent(t), "data"),
		HBA:     []string{"local all all reject", "hostssl all all 127.0.0.1/32 trust"},
		TLSCert: cert,
		TLSKey:  key,
	})
	if got := queryString(t, c.DSN("postgres")+" sslmode=require", "select ssl::text from pg_stat_ssl where pid = pg_backend_pid()"); got != "true" {
		t.Errorf("session over TLS: %s", got)
	}
	_, err := pgconn.Connect(t.Context(), c.DSN("postgres")+" sslmode=disable")
	var refusal *pgconn.PgError
	if !errors.As(err, &refusal) || refusal.Code != "28000" {
		t.Errorf("a plain session got %v, want 28000", err)
	}
}

func TestPortTaken(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	port := l.Addr().(*net.TCPAddr).Port
	_, err = Start(t.Context(), Config{Dir: filepath.Join(dataParent(t), "data"), Port: port})
	wantError(t, err, PortTaken, strconv.Itoa(port), "is taken by another program", "choose another port")
}

func TestPortTakenWhileStarting(t *testing.T) {
	t.Parallel()
	// The same finding made by the server itself, as when somebody wins the race.
	who, err := serverAccount()
	if err != nil {
		t.Fatal(err)
	}
	c := start(t, Config{Dir: filepath.Join(dataParent(t), "data")})
	stop(t, c)
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(c.Port())))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	dir, err := makeSocketDir(who)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	again := &Cluster{cfg: c.cfg, folder: c.folder, socketDir: dir}
	wantError(t, again.run(t.Context()), PortTaken, strconv.Itoa(c.Port()))
}

func TestFolderInUse(t *testing.T) {
	t.Parallel()
	c := start(t, Config{Dir: filepath.Join(dataParent(t), "data")})
	_, err := Start(t.Context(), Config{Dir: c.Dir()})
	wantError(t, err, FolderInUse, "another Postgres", c.Dir(), strconv.Itoa(c.PID()))
	if got := queryString(t, c.DSN("postgres"), "select 'unharmed'"); got != "unharmed" {
		t.Error(got)
	}
}

func TestStaleLockFile(t *testing.T) {
	t.Parallel()
	c := start(t, Config{Dir: filepath.Join(dataParent(t), "data")})
	lock := filepath.Join(c.Dir(), postmasterPID)
	text, err := os.ReadFile(lock)
	if err != nil {
		t.Fatal(err)
	}
	stop(t, c)

	dead := strings.Replace(string(text), strconv.Itoa(c.PID())+"\n", "4194303\n", 1)
	// A living process that is no Postgres: the parent of this test.
	recycled := strings.Replace(string(text), strconv.Itoa(c.PID())+"\n", strconv.Itoa(os.Getppid())+"\n", 1)
	for _, stale := range []string{dead, recycled, strings.Replace(dead, "ready", "stopping", 1)} {
		if err := os.WriteFile(lock, []byte(stale), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(lock, c.folder.who.uid, c.folder.who.gid); err != nil {
			t.Fatal(err)
		}
		again := start(t, Config{Dir: c.Dir()})
		stop(t, again)
	}
}

func TestHalfMadeFolderIsMadeAnew(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(dataParent(t), "data")
	for _, sub := range []string{initFolder + "/base", "global"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	c := start(t, Config{Dir: dir})
	if got := queryString(t, c.DSN("postgres"), "select 'whole'"); got != "whole" {
		t.Error(got)
	}
	if _, err := os.Stat(filepath.Join(dir, initFolder)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is left over: %v", initFolder, err)
	}
}

func TestUnusableFolders(t *testing.T) {
	t.Parallel()
	parent := dataParent(t)
	who, err := serverAccount()
	if err != nil {
		t.Fatal(err)
	}

	other := filepath.Join(parent, "other-version")
	mkdir(t, other, 0o700, who)
	write(t, filepath.Join(other, versionFile), "9.6\n")
	_, err = Start(t.Context(), Config{Dir: other})
	inst, findErr := Find()
	if findErr != nil {
		t.Fatal(findErr)
	}
	wantError(t, err, OtherVersion, other, "9.6", inst.Version, "pg_upgrade")

	foreign := filepath.Join(parent, "foreign")
	mkdir(t, foreign, 0o700, who)
	write(t, filepath.Join(foreign, versionFile), strconv.Itoa(inst.Major))
	write(t, filepath.Join(foreign, "postgresql.conf"), "")
	_, err = Start(t.Context(), Config{Dir: foreign})
	wantError(t, err, FolderUnusable, foreign, "did not make")

	full := filepath.Join(parent, "full")
	mkdir(t, full, 0o700, who)
	write(t, filepath.Join(full, "thesis.txt"), "")
	_, err = Start(t.Context(), Config{Dir: full})
	wantError(t, err, FolderUnusable, full, "not empty")

	file := filepath.Join(parent, "file")
	write(t, file, "")
	_, err = Start(t.Context(), Config{Dir: file})
	wantError(t, err, FolderUnusable, file, "not a directory")
	_, err = Start(t.Context(), Config{Dir: filepath.Join(file, "data")})
	wantError(t, err, FolderUnusable, file, "not a directory")

	_, err = Start(t.Context(), Config{Dir: "/proc/no-such-place/data"})
	wantError(t, err, FolderUnusable, "/proc/no-such-place/data", "choose a folder")

	if os.Getuid() == 0 {
		closed := filepath.Join(parent, "closed")
		mkdir(t, closed, 0o700, account{uid: 0, gid: 0})
		_, err = Start(t.Context(), Config{Dir: filepath.Join(closed, "data")})
		wantError(t, err, FolderUnusable, closed, who.name, "refuses to run as root")

		roots := filepath.Join(parent, "roots")
		mkdir(t, roots, 0o700, account{uid: 0, gid: 0})
		write(t, filepath.Join(roots, versionFile), strconv.Itoa(inst.Major))
		_, err = Start(t.Context(), Config{Dir: roots})
		wantError(t, err, FolderUnusable, roots, "belongs to root")
	}
}

func TestBadSettingTellsTheServersWords(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	for _, cfg := range []Config{{}, {Log: &log}} {
		cfg.Dir = filepath.Join(dataParent(t), "data")
		cfg.Settings = map[string]string{"shared_buffers": "no-number"}
		_, err := Start(t.Context(), cfg)
		wantError(t, err, StartFailed, "Postgres did not start", cfg.Dir, "configuration file")
	}
	if !strings.Contains(log.String(), "shared_buffers") {
		t.Errorf("the log given did not get the server's words: %s", log.String())
	}
}

func TestStartIsCancelled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Start(ctx, Config{Dir: filepath.Join(dataParent(t), "data")})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestStopDoesNotWaitForSessions(t *testing.T) {
	t.Parallel()
	c, err := Temp(Config{})
	if err != nil {
		t.Fatal(err)
	}
	conn, err := pgconn.Connect(t.Context(), c.DSN("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	began := time.Now()
	stop(t, c)
	if d := time.Since(began); d > fastTimeout {
		t.Errorf("took %v", d)
	}
}

func mkdir(t *testing.T, path string, mode os.FileMode, who account) {
	t.Helper()
	if err := errors.Join(os.Mkdir(path, mode), os.Chmod(path, mode), os.Chown(path, who.uid, who.gid)); err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestSignalAfterEndIsHarmless(t *testing.T) {
	t.Parallel()
	p := &process{pid: os.Getpid(), done: make(chan struct{})}
	close(p.done)
	p.signal(syscall.SIGKILL) // would be the end of this test
}
