package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sys/unix"
)

// onTerminal starts the program on a terminal of its own and returns the other side of that; what
// the program draws is in out. The program has ended for its p only when leave was called: the
// kernel throws away what nobody has read yet when the leader of a terminal's session ends, so that
// is a shell.
func onTerminal(t *testing.T, width, height uint16, args ...string) (p *program, terminal *os.File, leave func()) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = master.Close() })
	fd := int(master.Fd())
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	resize(t, master, width, height)
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = slave.Close() }()
	stay, hold, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stay.Close() }()
	leave = func() { _ = hold.Close() }
	t.Cleanup(leave)
	shell := []string{"-c", `"$0" "$@" 3<&-; status=$?; read -r nothing <&3; exit $status`, os.Args[0]}
	p = &program{t: t, cmd: exec.Command("/bin/sh", append(shell, args...)...), out: newTranscript(), log: newTranscript(), ended: make(chan struct{})}
	p.cmd.ExtraFiles = []*os.File{stay} // as 3
	p.cmd.Env = append(os.Environ(), asProgram+"=1")
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = slave, slave, slave
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = io.Copy(p.out, master) }() // until the program has closed its side
	go func() {
		_ = p.cmd.Wait()
		p.status = p.cmd.ProcessState.ExitCode()
		close(p.ended)
	}()
	t.Cleanup(func() {
		select {
		case <-p.ended:
		default:
			_ = p.cmd.Process.Kill()
			<-p.ended
		}
	})
	return p, master, leave
}

func resize(t *testing.T, terminal *os.File, width, height uint16) {
	t.Helper()
	if err := unix.IoctlSetWinsize(int(terminal.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: height, Col: width}); err != nil {
		t.Fatal(err)
	}
}

// TestTopOnATerminal: top draws within the terminal's size, again when that changes and when there
// is something new, and ends with q and with Ctrl-C, leaving the terminal as it was.
func TestTopOnATerminal(t *testing.T) {
	t.Parallel()
	dsn := served(t, "topped")
	for i := range 30 {
		do(t, dsn, fmt.Sprintf("select mbus4.create_queue('queue_%d', 1)", i))
	}
	for _, key := range []string{"q", "\x03"} {
		p, terminal, leave := onTerminal(t, 80, 24, "top", "--interval", "100ms", "--dsn", dsn)
		p.awaitText(p.out, "more\x1b[K\r\nq quits")
		do(t, dsn, "select mbus4.post('orders', 'a=>1') from generate_series(1, 7)")
		p.awaitText(p.out, "\r\norders ")
		first := p.out.String()
		for _, line := range strings.Split(first, "\r\n") {
			if text := strings.NewReplacer("\x1b[K", "", "\x1b[J", "", "\x1b[H", "", "\x1b[?1049h", "", "\x1b[?25l", "").Replace(line); len([]rune(text)) > 80+80 || strings.Contains(text, "\x1b") {
				t.Errorf("%d columns: %q", len([]rune(text)), text)
			}
		}
		resize(t, terminal, 40, 10)
		p.awaitText(p.out, "idle in transacti…\x1b[K")
		if _, err := terminal.WriteString("x" + key); err != nil {
			t.Fatal(err)
		}
		p.awaitText(p.out, "\x1b[?25h\x1b[?1049l")
		leave()
		p.wantStatus(0)
		do(t, dsn, "select mbus4.clear_queue_orders()")
	}
}

// TestTopShowsCallsThatWait: as far as the proxy's console is for whoever asks.
func TestTopShowsCallsThatWait(t *testing.T) {
	t.Parallel()
	do(t, server.DSN("postgres"), "create role top_ops; create role top_stranger login")
	dsn := served(t, "topwaits", "--console-role", "top_ops")
	do(t, dsn, "select mbus4.create_consumer('orders', 'billing'); grant mbus4_user to top_stranger")
	topped := func(dsn string) (waits []map[string]any, known bool) {
		t.Helper()
		p := run1(t, []string{"MBUS_DSN=" + dsn}, "top", "--output", "json")
		p.wantStatus(0)
		var all map[string][]map[string]any
		if err := json.Unmarshal([]byte(p.out.String()), &all); err != nil {
			t.Fatalf("%v in %s", err, p.out)
		}
		return all["waiting_calls"], all["waiting_calls"] != nil
	}
	if waits, known := topped(dsn); !known || len(waits) != 0 {
		t.Errorf("%v, %v", waits, known)
	}
	p, terminal, leave := onTerminal(t, 80, 24, "top", "--interval", "100ms", "--dsn", dsn)
	p.awaitText(p.out, "\r\norders ")
	ended := make(chan error, 3)
	for _, call := range []string{"consume('orders', wait => '1 h')", "consume('orders', wait => '1 h')", "consume('orders', 'billing', wait => '1 h')"} {
		conn, err := pgx.Connect(t.Context(), dsn)
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			_, err := conn.Exec(context.Background(), "select * from mbus4."+call)
			_ = conn.Close(context.Background())
			ended <- err
		}()
	}
	p.awaitText(p.out, "CALLS WAIT FOR       CALLS LONGEST\x1b[K\r\norders                   2 ")
	p.awaitText(p.out, "\r\norders by billing        1 ")
	waits, _ := topped(dsn)
	if len(waits) != 2 || waits[0]["queue"] != "orders" || waits[0]["consumer"] != "default" || waits[0]["calls"] != 2.0 || waits[1]["consumer"] != "billing" || waits[1]["calls"] != 1.0 {
		t.Errorf("%v", waits)
	}
	if waits, known := topped(strings.Replace(dsn, "user=postgres", "user=top_stranger", 1)); known {
		t.Errorf("who is no member sees %v", waits)
	}
	if _, err := terminal.WriteString("q"); err != nil {
		t.Fatal(err)
	}
	leave()
	p.wantStatus(0)
	do(t, dsn, "select mbus4.post('orders', 'a=>1') from generate_series(1, 2)")
	for range 3 {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// TestDeadQuestion: on a terminal a purge shows what it is about, and does nothing unless the answer is yes.
func TestDeadQuestion(t *testing.T) {
	t.Parallel()
	dsn := served(t, "questions")
	die(t, dsn, "orders", 12)
	for _, c := range []struct {
		answer string
		status int
		left   string
	}{{"\n", exitFailure, "12"}, {"nyes\n", exitFailure, "12"}, {"y\n", 0, "0"}} {
		p, terminal, leave := onTerminal(t, 200, 40, "dead", "purge", "orders", "--dsn", dsn)
		p.awaitText(p.out, "purge 12 messages? [y/N] ")
		if shown := strings.Count(p.out.String(), "no such printer"); shown != 5 {
			t.Errorf("%d are shown: %s", shown, p.out)
		}
		if _, err := terminal.WriteString(c.answer); err != nil {
			t.Fatal(err)
		}
		leave()
		p.wantStatus(c.status)
		if left := ask(t, dsn, "select count(*)::text from mbus4.dmq"); left != c.left {
			t.Errorf("after %q %s are left", c.answer, left)
		}
	}
}
