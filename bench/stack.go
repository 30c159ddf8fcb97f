package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"mbusproxy/internal/pgcluster"
)

const loopback = "127.0.0.1"

// path is a way to a database.
type path struct {
	name     string // direct, pgbouncer or proxy
	port     int
	pid      int    // of the process in the middle; 0: none
	database string // "": plainDatabase
	tls      bool
}

func (p path) dsn() string {
	mode := "disable"
	if p.tls {
		mode = "require"
	}
	return fmt.Sprintf("host=%s port=%d user=postgres dbname=%s sslmode=%s", loopback, p.port, cmp.Or(p.database, plainDatabase), mode)
}

// to is the way to another database.
func (p path) to(database string) path {
	p.database = database
	return p
}

// withTLS is the way with TLS from the client to the process in the middle.
func (p path) withTLS() path {
	p.tls = true
	return p
}

// stack is a Postgres with what stands before it.
type stack struct {
	cluster  *pgcluster.Cluster
	children []*child

	direct  path
	bouncer path // zero when started without
	proxy   path
}

// settings keep a checkpoint from falling into some arm's run; everything else that matters for
// speed (fsync, synchronous_commit, shared_buffers, autovacuum) is Postgres's default. Temp would
// turn the first two off. describeMachine tells of them.
func settings(connections int) map[string]string {
	return map[string]string{
		"fsync":              "on",
		"full_page_writes":   "on",
		"max_connections":    strconv.Itoa(connections),
		"max_wal_size":       "4GB",
		"checkpoint_timeout": "30min",
	}
}

// startStack starts everything; flags are further ones of the proxy. dir is made; it goes with the folder around it.
func startStack(ctx context.Context, t tools, dir string, connections int, withBouncer bool, flags ...string) (s *stack, err error) {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, err
	}
	cluster, err := pgcluster.Temp(pgcluster.Config{Installation: t.postgres, Settings: settings(connections)})
	if err != nil {
		return nil, fmt.Errorf("starting Postgres: %w", err)
	}
	s = &stack{cluster: cluster, direct: path{name: "direct", port: cluster.Port()}}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.stop())
			s = nil
		}
	}()
	for _, name := range []string{plainDatabase, busyDatabase} {
		if _, err := execSQL(ctx, cluster.DSN("postgres"), "create database "+name); err != nil {
			return s, err
		}
	}
	if withBouncer {
		cert, key, err := writeCertificate(dir)
		if err != nil {
			return s, err
		}
		flags = append(flags, "--tls-cert", cert, "--tls-key", key)
		if s.bouncer, err = s.startBouncer(ctx, t, dir, cert, key); err != nil {
			return s, err
		}
	}
	s.proxy, err = s.startProxy(ctx, t, dir, flags)
	return s, err
}

func (s *stack) startProxy(ctx context.Context, t tools, dir string, flags []string) (path, error) {
	port, err := freePort()
	if err != nil {
		return path{}, err
	}
	args := append([]string{
		"serve",
		"--listen", net.JoinHostPort(loopback, strconv.Itoa(port)),
		"--upstream", fmt.Sprintf("host=%s port=%d sslmode=disable", loopback, s.direct.port),
		"--admin", s.cluster.DSN(plainDatabase),
		"--drain-timeout", "2s", "--log-level", "warn",
	}, flags...)
	c, err := startChild(dir, "mbusproxy", nil, t.proxy, args...)
	if err != nil {
		return path{}, err
	}
	s.children = append(s.children, c)
	p := path{name: "proxy", port: port, pid: c.pid}
	return p, waitFor(ctx, c, p)
}

const bouncerConfig = `[databases]
* = host=%s port=%d

[pgbouncer]
listen_addr = %s
listen_port = %d
unix_socket_dir =
auth_type = trust
auth_file = %s
pool_mode = session
max_client_conn = %d
default_pool_size = %d
log_connections = 0
log_disconnections = 0
client_tls_sslmode = allow
client_tls_cert_file = %s
client_tls_key_file = %s
`

// startBouncer runs pgbouncer with as many server connections as clients may come.
func (s *stack) startBouncer(ctx context.Context, t tools, dir, cert, key string) (path, error) {
	who, err := bouncerAccount()
	if err != nil {
		return path{}, err
	}
	port, err := freePort()
	if err != nil {
		return path{}, err
	}
	users, config := filepath.Join(dir, "users.txt"), filepath.Join(dir, "pgbouncer.ini")
	text := fmt.Sprintf(bouncerConfig, loopback, s.direct.port, loopback, port, users, 200, 100, cert, key)
	// Readable for whomever it runs as; there is no secret in them.
	err = errors.Join(os.WriteFile(users, []byte("\"postgres\" \"\"\n"), 0o644), os.WriteFile(config, []byte(text), 0o644))
	if err != nil {
		return path{}, fmt.Errorf("configuring pgbouncer: %w", err)
	}
	c, err := startChild(dir, "pgbouncer", who, t.pgbouncer, config)
	if err != nil {
		return path{}, err
	}
	s.children = append(s.children, c)
	p := path{name: "pgbouncer", port: port, pid: c.pid}
	return p, waitFor(ctx, c, p)
}

// bouncerAccount is whom pgbouncer, which refuses to run as root, runs as; nil: as we do.
func bouncerAccount() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, uidErr := strconv.ParseUint(u.Uid, 10, 32)
		gid, gidErr := strconv.ParseUint(u.Gid, 10, 32)
		if uidErr == nil && gidErr == nil && uid != 0 {
			return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
		}
	}
	return nil, errors.New("pgbouncer refuses to run as root, and there is neither a user postgres nor a user nobody")
}

// waitFor waits until a query through p is answered.
func waitFor(ctx context.Context, c *child, p path) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for {
		_, err := execSQL(ctx, p.dsn(), "select 1")
		if err == nil {
			return nil
		}
		if !c.alive() || ctx.Err() != nil {
			return fmt.Errorf("waiting for %s: %w\n%s", c.name, err, c.lastWords())
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// stop ends all processes, the server last.
func (s *stack) stop() error {
	var errs []error
	for _, c := range s.children {
		errs = append(errs, c.stop())
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return errors.Join(append(errs, s.cluster.Stop(ctx))...)
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", net.JoinHostPort(loopback, "0"))
	if err != nil {
		return 0, fmt.Errorf("looking for a free port: %w", err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().(*net.TCPAddr).Port, nil
}
