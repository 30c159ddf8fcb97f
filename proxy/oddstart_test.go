package proxy

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"mbusproxy/internal/pgcluster"
	"mbusproxy/proxy/internal/proxytest"
	"mbusproxy/proxy/wire"
)

// oddStart is a connection that begins oddly: what a client sends, until the other side closes.
type oddStart struct {
	name  string
	steps []oddStep
	// own marks messages of the proxy's own making: the places in the server's source that an ErrorResponse names are
	// not compared.
	own bool
	// more is what the proxy says where the server only closes.
	more string
}

// oddStep sends bytes, reads as many as are told of the answer, and goes on under TLS if it is told so.
type oddStep struct {
	send   string
	answer int
	tls    bool
}

// oddTimeouts are for how long the server and the proxy wait for a startup in these tests: on a machine that is busy what
// is closed at once may be closed after the first of them, and is tried again with the next.
func oddTimeouts() []time.Duration {
	return []time.Duration{3 * time.Second, 12 * time.Second, 48 * time.Second}
}

// TestOddStarts plays connections that begin oddly direct to the server and through the proxy. They get the same bytes,
// and are closed at the same point: at once, or at the end of the time for startups, which both have.
func TestOddStarts(t *testing.T) {
	t.Parallel()
	hba := []string{
		"local all all trust", "host all clear_user all password", "host all md5_user all md5",
		"host all scram_user all scram-sha-256", "host replication all all trust", "host all all all trust",
	}
	for _, c := range []struct {
		name         string
		secure, unix bool
		cases        []oddStart
	}{
		{"as it is", false, false, oddStarts()},
		{"without encryption", false, true, oddWithoutTLS()}, // a server never has any on a unix socket
		{"with TLS", true, false, oddWithTLS()},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			conf := pgcluster.Config{HBA: hba, Settings: map[string]string{
				"max_connections": "400", "wal_level": "logical", "max_wal_senders": "50",
			}}
			if c.secure {
				conf.TLSCert, conf.TLSKey = shared.certFile, shared.keyFile
			}
			cluster, err := pgcluster.Temp(conf)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = cluster.Stop(t.Context()) })
			other := fixture{cluster: cluster}
			if err := other.makeRoles(); err != nil {
				t.Fatal(err)
			}
			p := start(t, how{}, func(cfg *Config) {
				cfg.Upstream = other.upstream("sslmode=disable")
				if c.secure {
					cfg.TLS = shared.serverTLS()
				}
			})
			direct := other.address()
			if c.unix {
				direct = cluster.SocketDir() + "/.s.PGSQL." + strconv.Itoa(cluster.Port())
			}
			left, reports := c.cases, []string(nil)
			for _, timeout := range oddTimeouts() {
				setOddTimeout(t, cluster, p, timeout)
				if left, reports = playOdd(left, direct, p.addr, timeout); len(left) == 0 {
					return
				}
			}
			t.Error(strings.Join(reports, "\n"))
		})
	}
}

// playOdd plays them, many abreast, and gives those that differ and how.
func playOdd(cases []oddStart, direct, proxied string, timeout time.Duration) (failed []oddStart, reports []string) {
	var mu sync.Mutex
	var playing sync.WaitGroup
	abreast := make(chan struct{}, 150)
	for _, odd := range cases {
		playing.Go(func() {
			abreast <- struct{}{}
			defer func() { <-abreast }()
			if report := compareOdd(odd, direct, proxied, timeout); report != "" {
				mu.Lock()
				defer mu.Unlock()
				failed, reports = append(failed, odd), append(reports, report)
			}
		})
	}
	playing.Wait()
	return failed, reports
}

// setOddTimeout has the server and the proxy wait so long for startups.
func setOddTimeout(t *testing.T, cluster *pgcluster.Cluster, p *running, timeout time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), proxytest.Patience)
	defer cancel()
	conn, err := pgconn.Connect(ctx, cluster.DSN("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(ctx) }()
	for _, sql := range []string{fmt.Sprintf("alter system set authentication_timeout = %d", int(timeout.Seconds())), "select pg_reload_conf()"} {
		if _, err := conn.Exec(ctx, sql).ReadAll(); err != nil {
			t.Fatal(err)
		}
	}
	proxytest.Eventually(t, "the server has the setting", func() bool { // its new processes have what the postmaster has
		other, err := pgconn.Connect(ctx, cluster.DSN("postgres"))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = other.Close(ctx) }()
		results, err := other.Exec(ctx, "select extract(epoch from current_setting('authentication_timeout')::interval)::int").ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		return string(results[0].Rows[0][0]) == fmt.Sprint(int(timeout.Seconds()))
	})
	limits := p.Limits()
	limits.StartupTimeout = timeout
	if err := p.Reload(limits); err != nil {
		t.Fatal(err)
	}
}

// compareOdd plays one direct and through the proxy, and says how they differ.
func compareOdd(odd oddStart, direct, proxied string, timeout time.Duration) (report string) {
	var got [2]oddEnd
	var both sync.WaitGroup
	for i, addr := range []string{direct, proxied} {
		both.Go(func() { got[i] = odd.play(addr, timeout) })
	}
	both.Wait()
	if odd.more != "" {
		if got[0].late && got[1].late && strings.Contains(describeBytes(got[1].bytes[min(len(got[0].bytes), len(got[1].bytes)):]), odd.more) {
			return ""
		}
	} else if got[0].late == got[1].late && bytes.Equal(got[0].bytes, got[1].bytes) && got[0].failed == got[1].failed {
		return ""
	}
	return fmt.Sprintf("%s: direct, late %t %s\n%s\nthrough the proxy, late %t %s\n%s", odd.name,
		got[0].late, got[0].failed, describeBytes(got[0].bytes), got[1].late, got[1].failed, describeBytes(got[1].bytes))
}

// oddEnd is what came of one.
type oddEnd struct {
	bytes  []byte
	late   bool   // closed by the timeout
	failed string // the test could not go on
}

func (o oddStart) play(addr string, timeout time.Duration) (end oddEnd) {
	begun := time.Now()
	network := "tcp"
	if strings.HasPrefix(addr, "/") {
		network = "unix"
	}
	conn, err := net.DialTimeout(network, addr, proxytest.Patience)
	if err != nil {
		return oddEnd{failed: err.Error()}
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(proxytest.Patience))
	for _, s := range o.steps {
		if _, err := conn.Write([]byte(s.send)); err != nil {
			break // closed already; what came is compared
		}
		answer := make([]byte, s.answer)
		n, err := io.ReadFull(conn, answer)
		end.bytes = append(end.bytes, answer[:n]...)
		if err != nil {
			break
		}
		if s.tls {
			secured := tls.Client(conn, shared.clientTLS())
			if err := secured.Handshake(); err != nil {
				end.failed = "handshake fails"
				break
			}
			conn = secured
		}
	}
	rest, err := io.ReadAll(conn)
	if failed, ok := err.(net.Error); ok && failed.Timeout() { //nolint:errorlint // as it comes from a socket
		end.failed = "is not closed"
	}
	end.late = time.Since(begun) >= timeout
	end.bytes = o.comparable(append(end.bytes, rest...))
	return end
}

// comparable clears what is another in each session: the key of cancel requests, salts and nonces,
// and the places in the server's source if the proxy says it.
func (o oddStart) comparable(b []byte) []byte {
	out := slices.Clone(b)
	at := 0
	for at < len(out) && (out[at] == 'N' || out[at] == 'S') && (at+1 == len(out) || bytes.IndexByte([]byte("NSER"), out[at+1]) >= 0) {
		at++ // answers to requests
	}
	for at+wire.HeaderSize <= len(out) {
		size, ok := wire.FrameLen(out[at:])
		if !ok || at+size > len(out) {
			break
		}
		body := out[at+wire.HeaderSize : at+size]
		switch {
		case out[at] == wire.MsgBackendKeyData:
			clear(body)
		case out[at] == wire.MsgAuthentication && body[3] == wire.AuthMD5Password:
			clear(body[4:])
		case out[at] == wire.MsgErrorResponse && o.own:
			var kept []byte
			for _, field := range bytes.Split(body, []byte{0}) {
				if len(field) > 0 && bytes.IndexByte([]byte("FLR"), field[0]) < 0 {
					kept = append(append(kept, field...), 0)
				}
			}
			return append(out[:at], kept...)
		}
		at += size
	}
	return out
}

func describeBytes(b []byte) string {
	if len(b) > 2000 {
		b = b[:2000]
	}
	s := fmt.Sprintf("%q", b)
	return strings.ReplaceAll(strings.ReplaceAll(s, `SFATAL\x00VFATAL\x00C`, "FATAL "), `\x00M`, " ")
}
