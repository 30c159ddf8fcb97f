package pgcluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

const (
	defaultHost  = "127.0.0.1"
	startTimeout = 60 * time.Second // from exec to the first answer; crash recovery included
	fastTimeout  = 20 * time.Second // for SIGINT, fast shutdown with its checkpoint
	quitTimeout  = 5 * time.Second  // for SIGQUIT, immediate shutdown
	portAttempts = 5                // free ports tried when others keep taking them
	socketPrefix = "mbus-"
	maxSocketDir = 80 // bytes; with /.s.PGSQL.65535 the path stays below 100
)

// Config describes a cluster.
type Config struct {
	Installation Installation      // zero: Find
	Dir          string            // data folder; made if missing, kept between runs
	Host         string            // address to listen on; default 127.0.0.1
	Port         int               // 0: a free one
	Settings     map[string]string // postgresql.conf settings of this run
	HBA          []string          // lines of pg_hba.conf; nil: trust for the socket and loopback
	TLSCert      string            // the server's certificate, a PEM file that is copied in; "": no TLS
	TLSKey       string            // its key
	Log          io.Writer         // server's log; nil: the file server.log in Dir

	throwAway bool // do not sync to disk
}

// Cluster is a running server with its data folder.
type Cluster struct {
	cfg       Config // Dir and Port as they came out
	folder    *folder
	socketDir string
	proc      *process

	stopping sync.Mutex // held by the one who ends the server
	removed  bool       // guarded by stopping: Stop has cleaned up
	remove   string     // folder that Stop removes; "" for a kept one
}

// Start makes the data folder if it is missing, starts a server on it and waits until the server
// answers. The server runs until Stop or Kill; on Linux also no longer than this process. ctx
// limits the start only. Failures that a person can mend are of type *Error.
func Start(ctx context.Context, cfg Config) (*Cluster, error) {
	if cfg.Dir == "" {
		return nil, errors.New("starting a Postgres cluster: no data folder given")
	}
	if cfg.Host == "" {
		cfg.Host = defaultHost
	}
	if (cfg.TLSCert == "") != (cfg.TLSKey == "") {
		return nil, errors.New("starting a Postgres cluster: certificate and key go together")
	}
	if cfg.Installation == (Installation{}) {
		inst, err := Find()
		if err != nil {
			return nil, err
		}
		cfg.Installation = inst
	}
	if err := cfg.Installation.checkExtension("hstore"); err != nil {
		return nil, err
	}
	if cfg.Port != 0 {
		if err := checkPort(cfg.Host, cfg.Port); err != nil {
			return nil, err
		}
	}
	who, err := serverAccount()
	if err != nil {
		return nil, err
	}
	f, err := openFolder(cfg.Dir, who)
	if err != nil {
		return nil, err
	}
	cfg.Dir = f.path
	if err := f.prepare(ctx, cfg.Installation, !cfg.throwAway); err != nil {
		return nil, err
	}
	if err := f.vacate(ctx); err != nil {
		return nil, err
	}
	if err := f.writeSettings(cfg); err != nil {
		return nil, err
	}
	socketDir, err := makeSocketDir(who)
	if err != nil {
		return nil, err
	}
	f.noteSocketDir(socketDir)
	c := &Cluster{cfg: cfg, folder: f, socketDir: socketDir}
	if err := c.run(ctx); err != nil {
		_ = os.RemoveAll(socketDir)
		return nil, err
	}
	return c, nil
}

// run starts the server, again where that is worth it: on another port when the free one was
// taken meanwhile, and when a crashed server's last processes still let go of its memory.
func (c *Cluster) run(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	wanted := c.cfg.Port
	for attempt := 1; ; attempt++ {
		if wanted == 0 {
			port, err := freePort(c.cfg.Host)
			if err != nil {
				return err
			}
			c.cfg.Port = port
		}
		err := c.runOnce(ctx)
		if err == nil {
			return nil
		}
		var failed *exitError
		if !errors.As(err, &failed) {
			return err
		}
		switch {
		case failed.says("could not bind", "could not create any TCP/IP sockets"):
			if wanted != 0 || attempt == portAttempts {
				return portTaken(c.cfg.Host, c.cfg.Port, err)
			}
		case failed.says("is still in use") && pause(ctx):
		default:
			return &Error{
				Kind:    StartFailed,
				Message: fmt.Sprintf("Postgres did not start on %s: %s", c.cfg.Dir, complaint(failed.output, nil)),
				Hint:    c.logHint(),
				Err:     err,
			}
		}
	}
}

// exitError says that the server ended while it was being waited for.
type exitError struct{ output string }

func (e *exitError) Error() string { return "server ended: " + complaint(e.output, nil) }

func (e *exitError) says(any ...string) bool {
	for _, s := range any {
		if strings.Contains(e.output, s) {
			return true
		}
	}
	return false
}

func (c *Cluster) logHint() string {
	if c.cfg.Log != nil {
		return ""
	}
	return "the server's log is " + filepath.Join(c.cfg.Dir, logFile)
}

func (c *Cluster) runOnce(ctx context.Context) error {
	cmd := exec.Command(filepath.Join(c.cfg.Installation.BinDir, "postgres"),
		"-D", c.cfg.Dir,
		"-c", "listen_addresses="+c.cfg.Host,
		"-c", "port="+strconv.Itoa(c.cfg.Port),
		"-c", "unix_socket_directories="+c.socketDir,
	)
	cmd.Dir = c.cfg.Dir
	cmd.Env = serverEnv(c.cfg.Dir)
	proc, err := startProcess(cmd, c.folder.who, c.folder, c.cfg.Log)
	if err != nil {
		var told *Error
		if errors.As(err, &told) {
			return err
		}
		return fmt.Errorf("starting postgres: %w", err)
	}
	c.proc = proc
	for {
		if answers(ctx, c.socketDir, c.cfg.Port) {
			return nil
		}
		select {
		case <-proc.done:
			return &exitError{output: proc.output()}
		default:
		}
		if !pause(ctx) {
			c.halt(nil)
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return &Error{
					Kind:    StartFailed,
					Message: fmt.Sprintf("Postgres on %s did not answer in time", c.cfg.Dir),
					Hint:    c.logHint(),
					Err:     ctx.Err(),
				}
			}
			return fmt.Errorf("waiting for postgres: %w", ctx.Err())
		}
	}
}

// answers tells whether the server accepts sessions. It asks over the socket, which surely is this
// server's own. A refusal for any reason but "starting up" (57P03) is an answer too: the access
// rules may be closed to us.
func answers(ctx context.Context, socketDir string, port int) bool {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	cfg, err := pgconn.ParseConfig(fmt.Sprintf("host=%s port=%d user=postgres dbname=postgres sslmode=disable passfile=/dev/null", socketDir, port))
	if err != nil {
		return false
	}
	conn, err := pgconn.ConnectConfig(ctx, cfg)
	if err == nil {
		_ = conn.Close(ctx)
		return true
	}
	var refusal *pgconn.PgError
	return errors.As(err, &refusal) && refusal.Code != "57P03"
}

// Host is the address that the server listens on.
func (c *Cluster) Host() string { return c.cfg.Host }

// Port is the TCP port that the server listens on; its unix socket bears the same number.
func (c *Cluster) Port() int { return c.cfg.Port }

// SocketDir is the folder of the server's unix socket. It goes with the server.
func (c *Cluster) SocketDir() string { return c.socketDir }

// Dir is the data folder, absolute and with links resolved.
func (c *Cluster) Dir() string { return c.cfg.Dir }

// PID is the process id of the server's postmaster.
func (c *Cluster) PID() int { return c.proc.pid }

// Installation tells which Postgres it is.
func (c *Cluster) Installation() Installation { return c.cfg.Installation }

// Done is closed when the server has ended, for whatever reason.
func (c *Cluster) Done() <-chan struct{} { return c.proc.done }

// DSN is the connection string of a database for the superuser postgres, over TCP. A setting
// appended to it wins over the one it has.
func (c *Cluster) DSN(database string) string {
	dsn := fmt.Sprintf("host=%s port=%d user=postgres dbname=%s", c.cfg.Host, c.cfg.Port, quoteValue(database))
	if c.cfg.TLSCert == "" {
		dsn += " sslmode=disable"
	}
	return dsn
}

func quoteValue(v string) string {
	if v != "" && !strings.ContainsAny(v, ` '\`+"\t\n") {
		return v
	}
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(v) + "'"
}

// Stop shuts the server down in order, open sessions included, and less politely when ctx ends or
// when it takes too long. It may be called again, and after Kill.
func (c *Cluster) Stop(ctx context.Context) error {
	c.stopping.Lock()
	defer c.stopping.Unlock()
	if !c.halt(ctx.Done()) {
		return fmt.Errorf("stopping Postgres: process %d does not end", c.proc.pid)
	}
	if c.removed {
		return nil
	}
	c.removed = true
	err := os.RemoveAll(c.socketDir)
	if c.remove != "" {
		err = errors.Join(err, os.RemoveAll(c.remove))
	}
	if err != nil {
		return fmt.Errorf("cleaning up after Postgres: %w", err)
	}
	return nil
}

// Kill ends the server without a checkpoint, as a crash would, and returns when it is gone. The
// data folder stays, a throw-away one too, until Stop.
func (c *Cluster) Kill() {
	c.proc.signal(syscall.SIGQUIT)
	if !c.proc.ended(quitTimeout, nil) {
		c.proc.signal(syscall.SIGKILL)
		c.proc.ended(quitTimeout, nil)
	}
}

// halt goes from polite to final and reports whether the process ended.
func (c *Cluster) halt(hurry <-chan struct{}) bool {
	c.proc.signal(syscall.SIGINT)
	if c.proc.ended(fastTimeout, hurry) {
		return true
	}
	c.Kill()
	return c.proc.ended(0, nil)
}

// makeSocketDir makes a folder for the unix socket, short enough for the 107 bytes of sun_path.
func makeSocketDir(who account) (string, error) {
	parent := os.TempDir()
	if len(parent)+len("/"+socketPrefix+"0123456789") > maxSocketDir || who.stepDown && who.unreachable(filepath.Join(parent, "x")) != "" {
		parent = "/tmp"
	}
	dir, err := os.MkdirTemp(parent, socketPrefix)
	if err != nil {
		return "", fmt.Errorf("making a folder for the server's socket: %w", err)
	}
	err = os.Chmod(dir, 0o755) // clients of other users may connect, as on TCP
	if err == nil && who.stepDown {
		err = os.Chown(dir, who.uid, who.gid)
	}
	if err != nil {
		_ = os.RemoveAll(dir)
		return "", fmt.Errorf("making a folder for the server's socket: %w", err)
	}
	return dir, nil
}

// freePort asks the system for a port that nobody has just now.
func freePort(host string) (int, error) {
	l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		return 0, &Error{
			Kind:    StartFailed,
			Message: fmt.Sprintf("cannot listen on %s: %v", host, err),
			Hint:    "choose an address of this machine",
			Err:     err,
		}
	}
	defer func() { _ = l.Close() }()
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		return 0, fmt.Errorf("reading a free port: %w", err)
	}
	return strconv.Atoi(port)
}

func checkPort(host string, port int) error {
	l, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(port)))
	if err != nil {
		if errors.Is(err, syscall.EADDRINUSE) {
			return portTaken(host, port, err)
		}
		return &Error{
			Kind:    StartFailed,
			Message: fmt.Sprintf("cannot listen on %s: %v", net.JoinHostPort(host, strconv.Itoa(port)), err),
			Err:     err,
		}
	}
	return l.Close()
}

func portTaken(host string, port int, err error) *Error {
	return &Error{
		Kind:    PortTaken,
		Message: fmt.Sprintf("port %d on %s is taken by another program", port, host),
		Hint:    "choose another port, or stop the program that has it (`ss -ltnp` shows which)",
		Err:     err,
	}
}
