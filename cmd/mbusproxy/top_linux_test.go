package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// onTerminal starts the program on a terminal of its own and returns the other side of that; what the program draws is in out.
func onTerminal(t *testing.T, width, height uint16, args ...string) (*program, *os.File) {
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
	p := &program{t: t, cmd: exec.Command(os.Args[0], args...), out: newTranscript(), log: newTranscript(), ended: make(chan struct{})}
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
	return p, master
}

func resize(t *testing.T, terminal *os.File, width, height uint16) {
	t.Helper()
	if err := unix.IoctlSetWinsize(int(terminal.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: height, Col: width}); err != nil {
		t.Fatal(err)
	}
}

// TestTopOnATerminal: top draws within the terminal's size, again when that changes and when there is something new, and ends with q and with
// Ctrl-C, leaving the terminal as it was.
func TestTopOnATerminal(t *testing.T) {
	t.Parallel()
	dsn := served(t, "topped")
	for i := range 30 {
		do(t, dsn, fmt.Sprintf("select mbus4.create_queue('queue_%d', 1)", i))
	}
	for _, key := range []string{"q", "\x03"} {
		p, terminal := onTerminal(t, 80, 24, "top", "--interval", "100ms", "--dsn", dsn)
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
		p.wantStatus(0)
		p.awaitText(p.out, "\x1b[?25h\x1b[?1049l")
		do(t, dsn, "select mbus4.clear_queue_orders()")
	}
}
