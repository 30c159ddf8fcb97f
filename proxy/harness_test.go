package proxy

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest"

	"mbusproxy/internal/pgcluster"
	"mbusproxy/proxy/endpoint"
	"mbusproxy/proxy/internal/proxytest"
	"mbusproxy/proxy/relay"
)

// fixture is what all tests of the package share.
type fixture struct {
	cluster  *pgcluster.Cluster
	certFile string // vouches for itself, for 127.0.0.1 and localhost
	keyFile  string
	cert     tls.Certificate
	roots    *x509.CertPool
}

// shared is made by TestMain and only read by tests.
var shared fixture //nolint:gochecknoglobals // one Postgres for all tests

func TestMain(m *testing.M) {
	code, err := withCluster(m.Run)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func withCluster(run func() int) (code int, err error) {
	dir, err := os.MkdirTemp("", "mbusproxy-wire-")
	if err != nil {
		return 0, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := shared.makeCertificate(dir); err != nil {
		return 0, err
	}
	shared.cluster, err = pgcluster.Temp(pgcluster.Config{
		TLSCert: shared.certFile, TLSKey: shared.keyFile,
		Settings: map[string]string{
			"wal_level": "logical", "max_connections": "1200", "shared_buffers": "64MB",
			"max_prepared_transactions": "4",
		},
		HBA: []string{
			"local all all trust",
			"host all clear_user all password",
			"host all md5_user all md5",
			"host all scram_user all scram-sha-256",
			"host scram all all scram-sha-256", // a database
			"hostnossl all only_tls all reject",
			"hostssl all only_plain all reject",
			"host replication all all trust",
			"host all all all trust",
		},
	})
	if err != nil {
		return 0, err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		_ = shared.cluster.Stop(ctx)
	}()
	if err := shared.makeRoles(); err != nil {
		return 0, err
	}
	return run(), nil
}

func (f *fixture) makeRoles() error {
	ctx, cancel := context.WithTimeout(context.Background(), proxytest.Patience)
	defer cancel()
	conn, err := pgconn.Connect(ctx, f.cluster.DSN("postgres"))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	if _, err := conn.Exec(ctx, "create database scram").ReadAll(); err != nil {
		return err
	}
	_, err = conn.Exec(ctx, `
		set password_encryption = 'md5';
		create role md5_user login password 'secret';
		set password_encryption = 'scram-sha-256';
		create role scram_user login password 'secret';
		create role clear_user login password 'secret';
		create role only_tls login;
		create role only_plain login;
		create table items (id int primary key, name text);
		grant all on items to public;
		create table deferred (id int unique deferrable initially deferred);
		create table guarded (id int);
		create function refuse() returns trigger language plpgsql as
			$$ begin raise exception 'not before statement'; end $$;
		create trigger refuse before insert on guarded for each statement execute function refuse();
		create function arm_step() returns void language plpgsql as $$ begin
			if current_setting('mbus4.armed', true) = 'yes' then raise exception 'armed twice'; end if;
			perform set_config('mbus4.armed', 'yes', false);
		end $$;
		create function consume_step() returns setof int language plpgsql as $$ begin
			if current_setting('mbus4.armed', true) is distinct from 'yes' then raise exception 'not armed'; end if;
			perform set_config('mbus4.armed', '', false);
			return next 1;
		end $$;
	`).ReadAll()
	return err
}

func (f *fixture) makeCertificate(dir string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "localhost"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return err
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	certPEM := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	keyPEM := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})
	f.certFile, f.keyFile = filepath.Join(dir, "server.crt"), filepath.Join(dir, "server.key")
	if err := os.WriteFile(f.certFile, certPEM, 0o600); err != nil {
		return err
	}
	if err := os.WriteFile(f.keyFile, keyPEM, 0o600); err != nil {
		return err
	}
	if f.cert, err = tls.X509KeyPair(certPEM, keyPEM); err != nil {
		return err
	}
	f.roots = x509.NewCertPool()
	f.roots.AppendCertsFromPEM(certPEM)
	return nil
}

// upstream is the DSN of the cluster over TCP with further settings.
func (f *fixture) upstream(more string) string {
	return fmt.Sprintf("host=127.0.0.1 port=%d %s", f.cluster.Port(), more)
}

func (f *fixture) serverTLS() *tls.Config {
	return &tls.Config{Certificates: []tls.Certificate{f.cert}}
}

func (f *fixture) clientTLS() *tls.Config {
	return &tls.Config{RootCAs: f.roots, ServerName: "localhost", NextProtos: []string{endpoint.ALPN}}
}

// how names the two ways in which a session's bytes are moved.
type how struct {
	name  string
	loops int
}

// eachWay runs f with sessions moved by loops (where the system has them) and by goroutines.
func eachWay(t *testing.T, f func(t *testing.T, way how)) {
	ways := []how{{"goroutines", 0}}
	if relay.DefaultLoops() > 0 {
		ways = append(ways, how{"loops", 2})
	}
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) { f(t, way) })
	}
}

// running is a proxy under test.
type running struct {
	*Server
	addr string // of the first listener
	done chan error
	once sync.Once
}

// start runs a proxy before the cluster. It is closed at the end of the test, which fails if the
// proxy had to end a session because of a bug.
func start(t *testing.T, way how, change func(*Config)) *running {
	t.Helper()
	cfg := Config{
		Listen: []string{"127.0.0.1:0"}, Upstream: shared.upstream("sslmode=disable"),
		StartupTimeout: proxytest.Patience, DrainTimeout: proxytest.Patience,
		Log: zaptest.NewLogger(t, zaptest.Level(zap.WarnLevel)),
	}
	if change != nil {
		change(&cfg)
	}
	s, err := newServer(cfg, way.loops)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Listen(); err != nil {
		t.Fatal(err)
	}
	r := &running{Server: s, addr: s.Addrs()[0].String(), done: make(chan error, 1)}
	go func() { r.done <- s.Serve() }()
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		r.wait(t)
		if n := s.sessions.Counts.LostSync.Load(); n > 0 {
			t.Errorf("%d sessions lost synchronization", n)
		}
	})
	return r
}

// wait returns when Serve has.
func (r *running) wait(t *testing.T) {
	t.Helper()
	r.once.Do(func() {
		select {
		case err := <-r.done:
			if err != nil {
				t.Errorf("Serve: %v", err)
			}
		case <-time.After(proxytest.Patience):
			t.Errorf("Serve does not return\n%s", stacks())
		}
	})
}

func stacks() []byte {
	b := make([]byte, 1<<20)
	return b[:runtime.Stack(b, true)]
}

// dsn is a DSN for a client of the proxy.
func (r *running) dsn(more string) string {
	host, port, _ := net.SplitHostPort(r.addr)
	return fmt.Sprintf("host=%s port=%s user=postgres dbname=postgres sslmode=disable %s", host, port, more)
}

// deadPort is a port of loopback that refuses connections and stays taken until the test ends:
// bound, and nobody listens.
func deadPort(t *testing.T) int {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Close(fd) })
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	name, err := syscall.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	return name.(*syscall.SockaddrInet4).Port
}
