package rig

import (
	"context"
	"errors"
	"fmt"
	"maps"
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

// Path is a way to a database.
type Path struct {
	Name     string // direct, pgbouncer or proxy
	Port     int
	PID      int // of the process in the middle; 0: none
	Database string
	tls      bool
}

// DSN is the way as libpq writes it.
func (p Path) DSN() string {
	mode := "disable"
	if p.tls {
		mode = "require"
	}
	return fmt.Sprintf("host=%s port=%d user=postgres dbname=%s sslmode=%s", loopback, p.Port, p.Database, mode)
}

// To is the way to another database.
func (p Path) To(database string) Path {
	p.Database = database
	return p
}

// WithTLS is the way with TLS from the client to the process in the middle.
func (p Path) WithTLS() Path {
	p.tls = true
	return p
}

// Stack is a Postgres with what stands before it.
type Stack struct {
	Direct  Path
	Bouncer Path // zero when started without
	Proxy   Path

	cluster  *pgcluster.Cluster
	children []*child
}

// Options say what to start.
type Options struct {
	Dir         string // is made; it goes with the folder around it
	Databases   []string
	Connections int
	Bouncer     bool
	Settings    map[string]string // of the server, besides those of all stacks
	Flags       []string          // of the proxy, besides what it needs
}

// settings keep a checkpoint from falling into some arm's run; everything else that matters for
// speed (fsync, synchronous_commit, shared_buffers, autovacuum) is Postgres's default. Temp would
// turn the first two off. DescribeMachine tells of them.
func settings(opt Options) map[string]string {
	all := map[string]string{
		"fsync":              "on",
		"full_page_writes":   "on",
		"max_connections":    strconv.Itoa(opt.Connections),
		"max_wal_size":       "4GB",
		"checkpoint_timeout": "30min",
	}
	maps.Copy(all, opt.Settings)
	return all
}

// Start starts everything. The paths lead to the first of the databases.
func Start(ctx context.Context, t Tools, opt Options) (s *Stack, err error) {
	if err := os.Mkdir(opt.Dir, 0o755); err != nil {
		return nil, err
	}
	cluster, err := pgcluster.Temp(pgcluster.Config{Installation: t.Postgres, Settings: settings(opt)})
	if err != nil {
		return nil, fmt.Errorf("starting Postgres: %w", err)
	}
	s = &Stack{cluster: cluster, Direct: Path{Name: "direct", Port: cluster.Port(), Database: opt.Databases[0]}}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Stop())
			s = nil
		}
	}()
	for _, name := range opt.Databases {
		if _, err := Exec(ctx, cluster.DSN("postgres"), "create database "+name); err != nil {
			return s, err
		}
	}
	flags := opt.Flags
	if opt.Bouncer {
		cert, key, err := writeCertificate(opt.Dir)
		if err != nil {
			return s, err
		}
		flags = append(flags, "--tls-cert", cert, "--tls-key", key)
		if s.Bouncer, err = s.startBouncer(ctx, t, opt.Dir, pooling{mode: "session", clients: 200, servers: 100, more: fmt.Sprintf(bouncerTLS, cert, key)}); err != nil {
			return s, err
		}
	}
	s.Proxy, err = s.startProxy(ctx, t, opt.Dir, s.Direct, flags)
	return s, err
}

// AnotherProxy starts one more proxy before the server, with those flags besides what it needs.
func (s *Stack) AnotherProxy(ctx context.Context, t Tools, dir string, flags ...string) (Path, error) {
	dir, err := os.MkdirTemp(dir, "another-")
	if err != nil {
		return Path{}, fmt.Errorf("starting another proxy: %w", err)
	}
	return s.startProxy(ctx, t, dir, s.Direct, flags)
}

// PooledProxy starts a pgbouncer in transaction mode that has so many connections to the server,
// and one more proxy before it.
func (s *Stack) PooledProxy(ctx context.Context, t Tools, dir string, clients, servers int) (Path, error) {
	dir = filepath.Join(dir, "pooled")
	if err := os.Mkdir(dir, 0o755); err != nil {
		return Path{}, fmt.Errorf("starting a proxy before pgbouncer: %w", err)
	}
	bouncer, err := s.startBouncer(ctx, t, dir, pooling{mode: "transaction", clients: clients, servers: servers})
	if err != nil {
		return Path{}, err
	}
	return s.startProxy(ctx, t, dir, bouncer, nil)
}

func (s *Stack) startProxy(ctx context.Context, t Tools, dir string, upstream Path, flags []string) (Path, error) {
	port, err := freePort()
	if err != nil {
		return Path{}, err
	}
	args := append([]string{
		"serve",
		"--listen", net.JoinHostPort(loopback, strconv.Itoa(port)),
		"--upstream", fmt.Sprintf("host=%s port=%d sslmode=disable", loopback, upstream.Port),
		"--admin", s.Direct.DSN(),
		"--drain-timeout", "2s", "--log-level", "warn",
	}, flags...)
	c, err := startChild(dir, "mbusproxy", nil, t.Proxy, args...)
	if err != nil {
		return Path{}, err
	}
	s.children = append(s.children, c)
	p := Path{Name: "proxy", Port: port, PID: c.pid, Database: s.Direct.Database}
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
pool_mode = %s
max_client_conn = %d
default_pool_size = %d
log_connections = 0
log_disconnections = 0
%s`

const bouncerTLS = `client_tls_sslmode = allow
client_tls_cert_file = %s
client_tls_key_file = %s
`

// pooling says how pgbouncer runs: more are further lines of its configuration.
type pooling struct {
	mode             string
	clients, servers int // how many it serves, and how many connections it has to the server for each database
	more             string
}

// startBouncer runs pgbouncer before the server.
func (s *Stack) startBouncer(ctx context.Context, t Tools, dir string, how pooling) (Path, error) {
	who, err := bouncerAccount()
	if err != nil {
		return Path{}, err
	}
	port, err := freePort()
	if err != nil {
		return Path{}, err
	}
	users, config := filepath.Join(dir, "users.txt"), filepath.Join(dir, "pgbouncer.ini")
	text := fmt.Sprintf(bouncerConfig, loopback, s.Direct.Port, loopback, port, users, how.mode, how.clients, how.servers, how.more)
	// Readable for whomever it runs as; there is no secret in them.
	err = errors.Join(os.WriteFile(users, []byte("\"postgres\" \"\"\n"), 0o644), os.WriteFile(config, []byte(text), 0o644))
	if err != nil {
		return Path{}, fmt.Errorf("configuring pgbouncer: %w", err)
	}
	c, err := startChild(dir, "pgbouncer", who, t.Pgbouncer, config)
	if err != nil {
		return Path{}, err
	}
	s.children = append(s.children, c)
	p := Path{Name: "pgbouncer", Port: port, PID: c.pid, Database: s.Direct.Database}
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
func waitFor(ctx context.Context, c *child, p Path) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for {
		_, err := Exec(ctx, p.DSN(), "select 1")
		if err == nil {
			return nil
		}
		if !c.alive() || ctx.Err() != nil {
			return fmt.Errorf("waiting for %s: %w\n%s", c.name, err, c.lastWords())
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// Stop ends all processes, the server last.
func (s *Stack) Stop() error {
	var errs []error
	for _, c := range s.children {
		errs = append(errs, c.stop())
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return errors.Join(append(errs, s.cluster.Stop(ctx))...)
}

// FreeAddress is an address of loopback that nobody listens on.
func FreeAddress() (string, error) {
	port, err := freePort()
	return net.JoinHostPort(loopback, strconv.Itoa(port)), err
}

// ServerCPU is the processor time of all processes that the server has and had. Of those that have
// ended it counts in hundredths of a second, all together.
func (s *Stack) ServerCPU() (time.Duration, error) {
	return treeCPU(s.cluster.PID())
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", net.JoinHostPort(loopback, "0"))
	if err != nil {
		return 0, fmt.Errorf("looking for a free port: %w", err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// ProxyLog is what the proxy has said so far.
func (s *Stack) ProxyLog() string { return readText(s.children[len(s.children)-1].log) }
