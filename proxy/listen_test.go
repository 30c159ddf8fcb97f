package proxy

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"mbusproxy/proxy/internal/proxytest"
	"mbusproxy/proxy/listen"
)

func TestUnixSocketsOnBothSides(t *testing.T) {
	eachWay(t, func(t *testing.T, way how) {
		dir, err := os.MkdirTemp("", "mbs")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.RemoveAll(dir) })
		config := func(c *Config) {
			c.Listen = []string{"127.0.0.1:0", dir}
			c.Upstream = fmt.Sprintf("host=%s port=%d", shared.cluster.SocketDir(), shared.cluster.Port())
			c.TLS, c.TLSRequired = shared.serverTLS(), true // says nothing about unix sockets
		}
		p := start(t, way, config)
		addrs := p.Addrs()
		path := addrs[1].String()
		if want := fmt.Sprintf(".s.PGSQL.%d", addrs[0].(*net.TCPAddr).Port); filepath.Base(path) != want {
			t.Errorf("socket is %s, want %s", path, want)
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o777 {
			t.Errorf("socket: %v, %v", info.Mode(), err)
		}
		ordinaryWork(t, dialWire(t, path))
		t.Run("in use", func(t *testing.T) {
			if _, err := listen.Unix(dir, addrs[0].(*net.TCPAddr).Port, false); err == nil || !strings.Contains(err.Error(), "another proxy") {
				t.Errorf("second listener: %v", err)
			}
		})
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(path); !os.IsNotExist(err) {
			t.Errorf("socket is left: %v", err)
		}
	})
}

func TestMaxConnections(t *testing.T) {
	p := start(t, how{}, func(c *Config) { c.MaxConnections = 1 })
	first := login(t, p.addr)
	second := dialWire(t, p.addr)
	second.startup("user", "postgres")
	if got := second.toEnd(); !strings.Contains(got, `FATAL 53300 "sorry, too many clients already"`) {
		t.Error(got)
	}
	first.send(&pgproto3.Terminate{})
	first.toEnd()
	proxytest.Eventually(t, "the session's place is free", func() bool { return p.sessions.Census().Known == 0 })
	login(t, p.addr)
}

func TestStartupTimeout(t *testing.T) {
	p := start(t, how{}, func(c *Config) { c.StartupTimeout = 100 * time.Millisecond; c.TLS = shared.serverTLS() })
	for name, send := range map[string]string{
		"silent":                "",
		"half a packet":         "\x00\x00\x00\x20\x00\x03",
		"half a handshake":      sslRequest,
		"no password":           string(packet(3<<16, "user\x00clear_user\x00database\x00postgres\x00\x00")),
		"begun direct TLS only": "\x16\x03\x01",
	} {
		t.Run(name, func(t *testing.T) {
			var got []byte
			asked := name == "no password"
			for range 20 { // on a busy machine the time may be over before the packet is read
				conn, err := net.Dial("tcp", p.addr)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := conn.Write([]byte(send)); err != nil {
					t.Fatal(err)
				}
				got = readAll(t, conn)
				_ = conn.Close()
				if !asked || len(got) > 0 {
					break
				}
			}
			// Who has not asked for anything yet is not answered, as by the server.
			if told := bytes.Contains(got, []byte("canceling authentication due to timeout")); told != asked || !asked && len(got) > len("S") {
				t.Errorf("got %q", got)
			}
		})
	}
	proxytest.Eventually(t, "no session is left", func() bool { return p.sessions.Census().Known == 0 })
}

func TestUnreachableServer(t *testing.T) {
	dead := deadPort(t)
	t.Run("all hosts", func(t *testing.T) {
		p := start(t, how{}, func(c *Config) { c.Upstream = fmt.Sprintf("host=127.0.0.1 port=%d", dead) })
		w := dialWire(t, p.addr)
		w.startup("user", "postgres")
		if got := w.toEnd(); !strings.Contains(got, "FATAL 08001") || !strings.Contains(got, "log says why") {
			t.Error(got)
		}
	})
	t.Run("first host", func(t *testing.T) {
		p := start(t, how{}, func(c *Config) {
			c.Upstream = fmt.Sprintf("postgres://127.0.0.1:%d,127.0.0.1:%d/?sslmode=disable", dead, shared.cluster.Port())
		})
		ordinaryWork(t, dialWire(t, p.addr))
	})
}

func TestNotAServer(t *testing.T) {
	mail := proxytest.Pretend(t, func(c net.Conn) {
		_, _ = c.Write([]byte("220 mail ESMTP\r\n"))
		_ = c.(*net.TCPConn).CloseWrite()
		_, _ = io.Copy(io.Discard, c)
	})
	p := start(t, how{}, func(c *Config) {
		c.Upstream = fmt.Sprintf("host=127.0.0.1 port=%d sslmode=disable", mail.Port)
	})
	w := dialWire(t, p.addr)
	w.startup("user", "postgres")
	if got := w.toEnd(); !strings.Contains(got, "there is a Postgres server behind it") {
		t.Error(got)
	}
}
