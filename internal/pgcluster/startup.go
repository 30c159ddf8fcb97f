package pgcluster

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

const (
	startTimeout = 60 * time.Second // from exec to the first answer; crash recovery included
	portAttempts = 5                // free ports tried when others keep taking them
)

// run starts the server, again where that is worth it: on another port when the free one was
// taken meanwhile, and when a crashed server's last processes still let go of its memory.
func (c *Cluster) run(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	wanted := c.cfg.Port
	for attempt := 1; ; attempt++ {
		if wanted == 0 {
			port, err := FreePort(c.cfg.Host)
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
	cmd.Env = append(serverEnv(c.cfg.Dir), c.cfg.Env...)
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
