package proxy

import (
	"bytes"
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

// oddTimeout is how long the server and the proxy wait for a startup in these tests.
const oddTimeout = 3 * time.Second

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
				"authentication_timeout": fmt.Sprint(oddTimeout.Seconds()), "max_connections": "400", "wal_level": "logical", "max_wal_senders": "50",
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
				cfg.Upstream, cfg.StartupTimeout = other.upstream("sslmode=disable"), oddTimeout
				if c.secure {
					cfg.TLS = shared.serverTLS()
				}
			})
			direct := other.address()
			if c.unix {
				direct = cluster.SocketDir() + "/.s.PGSQL." + strconv.Itoa(cluster.Port())
			}
			var playing sync.WaitGroup
			abreast := make(chan struct{}, 150)
			for _, odd := range c.cases {
				playing.Go(func() {
					abreast <- struct{}{}
					defer func() { <-abreast }()
					compareOdd(t, odd, direct, p.addr)
				})
			}
			playing.Wait()
		})
	}
}

// compareOdd plays one direct and through the proxy.
func compareOdd(t *testing.T, odd oddStart, direct, proxied string) {
	var got [2]oddEnd
	// On a machine that is busy a connection that is closed at once may be closed after the timeout. That does not
	// happen to the same one again and again.
	for range 4 {
		var both sync.WaitGroup
		for i, addr := range []string{direct, proxied} {
			both.Go(func() { got[i] = odd.play(addr) })
		}
		both.Wait()
		if odd.more != "" {
			if !got[0].late || !got[1].late || !strings.Contains(describeBytes(got[1].bytes[min(len(got[0].bytes), len(got[1].bytes)):]), odd.more) {
				continue
			}
			return
		}
		if got[0].late == got[1].late && bytes.Equal(got[0].bytes, got[1].bytes) && got[0].failed == got[1].failed {
			return
		}
	}
	t.Errorf("%s: direct, late %t %s\n%s\nthrough the proxy, late %t %s\n%s", odd.name,
		got[0].late, got[0].failed, describeBytes(got[0].bytes), got[1].late, got[1].failed, describeBytes(got[1].bytes))
}

// oddEnd is what came of one.
type oddEnd struct {
	bytes  []byte
	late   bool   // closed by the timeout
	failed string // the test could not go on
}

func (o oddStart) play(addr string) (end oddEnd) {
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
	end.late = time.Since(begun) >= oddTimeout
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
