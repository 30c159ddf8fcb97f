package packaging

import (
	"context"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"mbusproxy/internal/pgcluster"
)

// build makes the packages of a version in a folder.
func build(t *testing.T, dist, version string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "scripts/package.sh")
	cmd.Dir = root
	cmd.Env = append(cmd.Environ(), "DIST="+dist, "VERSION="+version)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// one returns the only file of a pattern.
func one(t *testing.T, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(pattern)
	if err != nil || len(found) != 1 {
		t.Fatalf("%s: %v, %v", pattern, found, err)
	}
	return found[0]
}

func freePort(t *testing.T) int {
	t.Helper()
	port, err := pgcluster.FreePort("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	return port
}

func startPostgres(t *testing.T) *pgcluster.Cluster {
	t.Helper()
	server, err := pgcluster.Temp(pgcluster.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Stop(context.Background()) })
	return server
}

// everything lists all files of the system with owner and mode, and the users: what a package may
// leave behind. Not what dpkg, systemd and the kernel note for themselves.
const everything = `find / -xdev \( -path /proc -o -path /sys -o -path /dev -o -path /run -o -path /tmp -o -path /var/tmp -o -path /root ` +
	`-o -path /var/lib/dpkg -o -path /var/log -o -path /var/cache -o -path /var/lib/systemd \) -prune -o ! -path '/etc/*-' -printf '%p %U:%G %m\n' | sort; ` +
	`sort /etc/passwd /etc/group; find /etc/systemd /run/systemd/transient /run/mbusproxy 2>/dev/null | sort`

// TestPackage goes the way of docs/install.md on a clean Debian, with the real systemd and the unit
// as it is: install, start, use through psql, upgrade under traffic, reload, purge. Nothing is
// left.
func TestPackage(t *testing.T) {
	needLong(t, "mmdebstrap", "systemd-nspawn", "nsenter", "unshare")
	dist := t.TempDir()
	build(t, dist, "0.1.0")
	build(t, dist, "0.1.1")
	server := startPostgres(t)
	m := newMachine(t)
	before := m.run(everything)

	m.run("dpkg -i " + m.install(one(t, dist+"/mbusproxy_0.1.0-1_*.deb")))
	m.want("0.1.0", "mbusproxy version | cut -d ' ' -f 2")
	m.want("root:mbusproxy:640", "stat -c %U:%G:%a /etc/mbusproxy/mbusproxy.conf")
	m.want("disabled\ndisabled", "systemctl is-enabled mbusproxy.socket mbusproxy.service")
	m.want("inactive\ninactive", "systemctl is-active mbusproxy.socket mbusproxy.service")

	// As installed it does not know its server: it says so, and is not tried again and again.
	if out, err := m.try("systemctl start mbusproxy.service"); err == nil {
		t.Errorf("it started: %s", out)
	}
	m.want("failed", "systemctl show -P ActiveState mbusproxy.service")
	m.want("2", "systemctl show -P ExecMainStatus mbusproxy.service")
	if log := m.run("journalctl --no-pager -u mbusproxy.service"); !strings.Contains(log, "serve needs --upstream") {
		t.Errorf("the journal: %s", log)
	}

	port, http := freePort(t), freePort(t)
	m.write("/etc/mbusproxy/mbusproxy.conf", fmt.Sprintf("upstream = %s\nadmin = %[1]s\nhttp = 127.0.0.1:%d\n", server.DSN("postgres"), http))
	m.write("/etc/systemd/system/mbusproxy.socket.d/here.conf", fmt.Sprintf("[Socket]\nListenStream=\nListenStream=127.0.0.1:%d\n", port))
	m.run("systemctl daemon-reload && systemctl enable --now mbusproxy.socket mbusproxy.service")
	m.want("active\nactive", "systemctl is-active mbusproxy.socket mbusproxy.service")
	m.want("serving clients", "systemctl show -P StatusText mbusproxy.service")
	m.want(fmt.Sprintf("mbusproxy\n0000000000000000\n1\n%d", descriptors(t)), "cd /proc/$(systemctl show -P MainPID mbusproxy) && stat -c %U . && "+
		"awk '/^CapBnd|^NoNewPrivs/ {print $2}' status && awk '/^Max open files/ {print $4}' limits")
	m.want("ok", "mbusproxy healthcheck --config /etc/mbusproxy/mbusproxy.conf")

	dsn := fmt.Sprintf("host=127.0.0.1 port=%d user=postgres dbname=postgres sslmode=disable", port)
	psql := fmt.Sprintf("psql -XAtq '%s' -v ON_ERROR_STOP=1 -c ", dsn)
	m.run(psql + `"select mbus4.create_queue('q', 1); select mbus4.create_queue('traffic', 1); select mbus4.post('q', 'a=>1')"`)
	m.want(`"a"=>"1"`, psql+`"select data from mbus4.consume('q')"`)

	m.underTraffic(dsn, func() {
		pid := m.run("systemctl show -P MainPID mbusproxy")
		m.run("dpkg -i " + m.install(one(t, dist+"/mbusproxy_0.1.1-1_*.deb")))
		m.want("active", "systemctl is-active mbusproxy.service")
		if now := m.run("systemctl show -P MainPID mbusproxy"); now == pid {
			t.Error("the old program goes on")
		}
		m.want("0.1.1", "/proc/$(systemctl show -P MainPID mbusproxy)/exe version | cut -d ' ' -f 2")
	})
	m.want("root:mbusproxy:640", "stat -c %U:%G:%a /etc/mbusproxy/mbusproxy.conf")
	m.run("echo 'max-connections = 77' >> /etc/mbusproxy/mbusproxy.conf && systemctl reload mbusproxy")
	// This systemd (252) has told the service, and does not wait for it.
	m.run("timeout 60 sh -c 'until journalctl --no-pager -u mbusproxy | grep -q \"configuration reloaded.*77\"; do sleep 0.1; done'")

	m.run("dpkg --purge mbusproxy")
	m.run("rm -r /etc/systemd/system/mbusproxy.socket.d") // ours
	if conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
		_ = conn.Close()
		t.Error("somebody listens still")
	}
	if got, _ := m.try("systemctl list-units --all --no-legend 'mbusproxy*'"); got != "" {
		t.Errorf("systemd still knows %s", got)
	}
	if after := m.run(everything); after != before {
		t.Errorf("left behind or taken along: %s", difference(before, after))
	}
}

// descriptors is how many the service can have: as many as the unit says, unless this machine gives nobody so many.
func descriptors(t *testing.T) uint64 {
	t.Helper()
	var here syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &here); err != nil {
		t.Fatal(err)
	}
	return min(131072, here.Max)
}

// underTraffic does something while clients come, post in a transaction and go. None gets an error,
// and each message is there once.
func (m *machine) underTraffic(dsn string, something func()) {
	m.t.Helper()
	ctx, cancel := context.WithCancel(m.t.Context())
	defer cancel()
	var clients sync.WaitGroup
	var posted atomic.Int64
	for range 4 {
		clients.Go(func() {
			for ctx.Err() == nil {
				if err := post(m.t, dsn); err != nil {
					m.t.Errorf("after %d messages: %v", posted.Load(), err)
					return
				}
				posted.Add(1)
			}
		})
	}
	enough := func() {
		limit, look := time.After(patience), time.NewTicker(10*time.Millisecond)
		defer look.Stop()
		for from := posted.Load(); posted.Load() < from+50; {
			select {
			case <-look.C:
			case <-limit:
				m.t.Fatal("clients make no progress")
			}
		}
	}
	enough()
	something()
	enough()
	cancel()
	clients.Wait()
	m.t.Logf("%d messages", posted.Load())
	m.want(fmt.Sprint(posted.Load()), fmt.Sprintf(`psql -XAtq '%s' -c "select count(*) from mbus4.message"`, dsn))
}

// post is a client that lives for one transaction.
func post(t *testing.T, dsn string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
	defer cancel()
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	for _, sql := range []string{"begin", "select mbus4.post('traffic', 'a=>1')", "commit"} {
		if _, err := conn.Exec(ctx, sql); err != nil {
			return fmt.Errorf("%s: %w", sql, err)
		}
	}
	return conn.Close(ctx)
}

// difference lists the lines that one of two texts has alone.
func difference(before, after string) (lines []string) {
	for sign, pair := range map[string][2]string{"-": {before, after}, "+": {after, before}} {
		other := map[string]bool{}
		for _, l := range strings.Split(pair[1], "\n") {
			other[l] = true
		}
		for _, l := range strings.Split(pair[0], "\n") {
			if !other[l] {
				lines = append(lines, sign+l)
			}
		}
	}
	return lines
}
