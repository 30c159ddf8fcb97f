package proxy

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest"

	"mbusproxy/internal/pgcluster"
)

// patience bounds every wait of a test; nothing waits that long unless it fails.
const patience = 20 * time.Second

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
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	conn, err := pgconn.Connect(ctx, f.cluster.DSN("postgres"))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
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
	return &tls.Config{RootCAs: f.roots, ServerName: "localhost", NextProtos: []string{alpnPostgres}}
}

// how names the two ways in which a session's bytes are moved.
type how struct {
	name  string
	loops int
}

// eachWay runs f with sessions moved by loops (where the system has them) and by goroutines.
func eachWay(t *testing.T, f func(t *testing.T, way how)) {
	ways := []how{{"goroutines", 0}}
	if defaultLoops() > 0 {
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
		StartupTimeout: patience, DrainTimeout: patience,
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
		if n := s.counts.desyncs.Load(); n > 0 {
			t.Errorf("%d sessions were out of step", n)
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
		case <-time.After(patience):
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

// eventually polls until ok, which must become true.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(patience)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("timeout waiting for: %s", what)
		}
		<-tick.C
	}
}

// sessionCount is the number of sessions the proxy holds.
func (s *Server) sessionCount() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.sessions)
}

// wire is a client that speaks the protocol message by message.
type wire struct {
	t    testing.TB
	conn net.Conn
	fe   *pgproto3.Frontend
	key  pgproto3.BackendKeyData
}

// dialWire connects without saying anything.
func dialWire(t testing.TB, addr string) *wire {
	t.Helper()
	network := "tcp"
	if strings.HasPrefix(addr, "/") {
		network = "unix"
	}
	conn, err := net.DialTimeout(network, addr, patience)
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{t: t}
	w.over(conn)
	t.Cleanup(func() { _ = conn.Close() })
	return w
}

// over goes on over conn.
func (w *wire) over(conn net.Conn) {
	_ = conn.SetDeadline(time.Now().Add(patience))
	w.conn, w.fe = conn, pgproto3.NewFrontend(conn, conn)
}

// login starts a session as postgres and reads up to ReadyForQuery.
func login(t testing.TB, addr string) *wire {
	t.Helper()
	w := dialWire(t, addr)
	w.startup("user", "postgres", "database", "postgres")
	w.until('Z')
	return w
}

func (w *wire) startup(parameters ...string) {
	m := &pgproto3.StartupMessage{ProtocolVersion: pgproto3.ProtocolVersion30, Parameters: map[string]string{}}
	for i := 0; i < len(parameters); i += 2 {
		m.Parameters[parameters[i]] = parameters[i+1]
	}
	w.send(m)
}

// send writes messages in one go.
func (w *wire) send(messages ...pgproto3.FrontendMessage) {
	w.t.Helper()
	for _, m := range messages {
		w.fe.Send(m)
	}
	if err := w.fe.Flush(); err != nil {
		w.t.Fatalf("sending: %v", err)
	}
}

// write writes bytes as they are.
func (w *wire) write(b []byte) {
	w.t.Helper()
	if _, err := w.conn.Write(b); err != nil {
		w.t.Fatalf("writing: %v", err)
	}
}

// receive returns the next message described as text, and its type; 0 at the end of the stream.
func (w *wire) receive() (byte, string) {
	w.t.Helper()
	m, err := w.fe.Receive()
	if err != nil {
		if ne, ok := err.(net.Error); ok && ne.Timeout() { //nolint:errorlint // pgproto3 returns it bare
			w.t.Fatalf("no message comes")
		}
		return 0, "closed"
	}
	if k, ok := m.(*pgproto3.BackendKeyData); ok {
		w.key = pgproto3.BackendKeyData{ProcessID: k.ProcessID, SecretKey: bytes.Clone(k.SecretKey)}
	}
	return describe(m)
}

// until reads up to and including a message of one of the types and returns all as text.
func (w *wire) until(types ...byte) string {
	w.t.Helper()
	var lines []string
	for {
		typ, text := w.receive()
		lines = append(lines, text)
		if bytes.IndexByte(types, typ) >= 0 {
			return strings.Join(lines, "\n")
		}
		if typ == 0 {
			w.t.Fatalf("closed while waiting for %q:\n%s", types, strings.Join(lines, "\n"))
		}
	}
}

// toEnd reads up to the end of the stream.
func (w *wire) toEnd() string {
	w.t.Helper()
	var lines []string
	for {
		typ, text := w.receive()
		lines = append(lines, text)
		if typ == 0 {
			return strings.Join(lines, "\n")
		}
	}
}

// query runs a simple query.
func (w *wire) query(sql string) string {
	w.t.Helper()
	w.send(&pgproto3.Query{String: sql})
	return w.until('Z')
}

// describe writes a message of the server as one line without what differs between runs.
func describe(m pgproto3.BackendMessage) (byte, string) {
	switch m := m.(type) {
	case *pgproto3.AuthenticationOk:
		return 'R', "AuthenticationOk"
	case *pgproto3.AuthenticationCleartextPassword:
		return 'R', "AuthenticationCleartextPassword"
	case *pgproto3.AuthenticationMD5Password:
		return 'R', "AuthenticationMD5Password"
	case *pgproto3.AuthenticationSASL:
		return 'R', fmt.Sprintf("AuthenticationSASL %q", m.AuthMechanisms)
	case *pgproto3.AuthenticationSASLContinue:
		return 'R', "AuthenticationSASLContinue"
	case *pgproto3.AuthenticationSASLFinal:
		return 'R', "AuthenticationSASLFinal"
	case *pgproto3.BackendKeyData:
		return 'K', "BackendKeyData"
	case *pgproto3.NegotiateProtocolVersion:
		return 'v', fmt.Sprintf("NegotiateProtocolVersion %d %q", m.NewestMinorProtocol, m.UnrecognizedOptions)
	case *pgproto3.ParameterStatus:
		return 'S', fmt.Sprintf("ParameterStatus %s", m.Name)
	case *pgproto3.ReadyForQuery:
		return 'Z', fmt.Sprintf("ReadyForQuery %c", m.TxStatus)
	case *pgproto3.ParseComplete:
		return '1', "ParseComplete"
	case *pgproto3.BindComplete:
		return '2', "BindComplete"
	case *pgproto3.CloseComplete:
		return '3', "CloseComplete"
	case *pgproto3.NoData:
		return 'n', "NoData"
	case *pgproto3.PortalSuspended:
		return 's', "PortalSuspended"
	case *pgproto3.EmptyQueryResponse:
		return 'I', "EmptyQueryResponse"
	case *pgproto3.ParameterDescription:
		return 't', fmt.Sprintf("ParameterDescription %v", m.ParameterOIDs)
	case *pgproto3.RowDescription:
		var names []string
		for _, f := range m.Fields {
			names = append(names, fmt.Sprintf("%s:%d", f.Name, f.DataTypeOID))
		}
		return 'T', "RowDescription " + strings.Join(names, " ")
	case *pgproto3.DataRow:
		return 'D', fmt.Sprintf("DataRow %q", m.Values)
	case *pgproto3.CommandComplete:
		return 'C', fmt.Sprintf("CommandComplete %s", m.CommandTag)
	case *pgproto3.CopyInResponse:
		return 'G', "CopyInResponse"
	case *pgproto3.CopyOutResponse:
		return 'H', "CopyOutResponse"
	case *pgproto3.CopyBothResponse:
		return 'W', "CopyBothResponse"
	case *pgproto3.CopyData:
		return 'd', fmt.Sprintf("CopyData %q", m.Data)
	case *pgproto3.CopyDone:
		return 'c', "CopyDone"
	case *pgproto3.FunctionCallResponse:
		return 'V', fmt.Sprintf("FunctionCallResponse %q", m.Result)
	case *pgproto3.NotificationResponse:
		return 'A', fmt.Sprintf("NotificationResponse %s %s", m.Channel, m.Payload)
	case *pgproto3.NoticeResponse:
		return 'N', "NoticeResponse " + describeReport((*pgproto3.ErrorResponse)(m))
	case *pgproto3.ErrorResponse:
		return 'E', "ErrorResponse " + describeReport(m)
	default:
		return '?', fmt.Sprintf("%T", m)
	}
}

func describeReport(m *pgproto3.ErrorResponse) string {
	text := fmt.Sprintf("%s %s %q", m.Severity, m.Code, m.Message)
	if m.Position != 0 {
		text += fmt.Sprintf(" at %d", m.Position)
	}
	if m.Hint != "" {
		text += fmt.Sprintf(" hint %q", m.Hint)
	}
	return text
}

// marking is a Rewriter for tests. A text that contains mbus4 gets a comment put before it and
// reports about it get their position corrected, so that all replies must be those of a direct
// connection; a report corrected for the wrong statement shows.
type marking struct {
	// visible also appends to reports whose plan they went through.
	visible bool
}

const marked = "/* twenty-seven bytes ... */"

func (marking) Mentions(text []byte) bool { return bytes.Contains(text, []byte("mbus4")) }

func (r marking) Rewrite(_ context.Context, _ StatementContext, text string) Plan {
	if strings.Contains(text, "mbus4.panic") {
		panic("asked to")
	}
	if strings.Contains(text, "mbus4.forward") {
		return nil
	}
	return &markingPlan{text: text, visible: r.visible}
}

func (r marking) EditReport(rep *pgproto3.ErrorResponse) bool {
	if r.visible && strings.HasPrefix(rep.Message, "marker: ") {
		rep.Message = strings.TrimPrefix(rep.Message, "marker: ")
		rep.Code = "MB001"
		rep.Hint = "edited without a plan"
		return true
	}
	return false
}

type markingPlan struct {
	text    string
	visible bool
}

func (p *markingPlan) SQL() string { return marked + p.text }

func (p *markingPlan) EditReport(rep *pgproto3.ErrorResponse) bool {
	changed := false
	if rep.Position > int32(len(marked)) {
		rep.Position -= int32(len(marked))
		changed = true
	}
	if p.visible {
		rep.Message += " [" + p.text + "]"
		changed = true
	}
	return changed
}

// readAll reads to the end with the test's patience.
func readAll(t *testing.T, conn net.Conn) []byte {
	t.Helper()
	_ = conn.SetReadDeadline(time.Now().Add(patience))
	b, err := io.ReadAll(conn)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
