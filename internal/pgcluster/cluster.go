package pgcluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	defaultHost = "127.0.0.1"
	fastTimeout = 20 * time.Second // for SIGINT, fast shutdown with its checkpoint
	quitTimeout = 5 * time.Second  // for SIGQUIT, immediate shutdown
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
	Env          []string          // variables of the server's environment, beside ours

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

// halt ends the server, by a fast shutdown or, if that takes too long or hurry is closed, by Kill.
// It reports whether the process has ended.
func (c *Cluster) halt(hurry <-chan struct{}) bool {
	c.proc.signal(syscall.SIGINT)
	if c.proc.ended(fastTimeout, hurry) {
		return true
	}
	c.Kill()
	return c.proc.ended(0, nil)
}
