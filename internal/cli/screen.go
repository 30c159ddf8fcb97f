package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"golang.org/x/term"
)

// What a terminal is told. All else that is written to it has gone through Visible.
const (
	enter   = "\x1b[?1049h\x1b[?25l" // another screen, without a cursor
	leave   = "\x1b[?25h\x1b[?1049l"
	home    = "\x1b[H"
	restOf  = "\x1b[K" // of the line: erase it
	restAll = "\x1b[J" // of the screen: erase it
)

// interrupt is what a terminal in raw mode gives for Ctrl-C.
const interrupt = 3

// Top draws the table anew at each interval, when the terminal's size changes, and when a key is
// pressed, until that key is q or Ctrl-C, or ctx ends. A connection that is lost is opened again.
func Top(ctx context.Context, dsn, console string, interval time.Duration, in, out *os.File) error {
	s, err := Connect(ctx, dsn, nil)
	if err != nil {
		return err
	}
	defer func() { s.Close() }()
	now, err := s.snap(ctx, console)
	if err != nil {
		return err
	}
	if old, err := term.MakeRaw(int(in.Fd())); err == nil { // it fails where in is no terminal: then there are no keys
		defer func() { _ = term.Restore(int(in.Fd()), old) }()
	}
	if _, err := io.WriteString(out, enter); err != nil {
		return fmt.Errorf("drawing: %w", err)
	}
	defer func() { _, _ = io.WriteString(out, leave) }()
	sizes := make(chan os.Signal, 1)
	signal.Notify(sizes, syscall.SIGWINCH)
	defer signal.Stop(sizes)
	keys := readKeys(ctx, in)
	tick := time.NewTicker(interval)
	defer tick.Stop()
	var before *snapshot
	trouble := ""
	for {
		if err := draw(out, now, before, trouble); err != nil {
			return fmt.Errorf("drawing: %w", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-sizes:
			continue
		case key, ok := <-keys:
			if !ok {
				keys = nil // its end is not ours
				continue
			}
			if key == 'q' || key == 'Q' || key == interrupt {
				return nil
			}
			continue
		case <-tick.C:
		}
		if s.conn.IsClosed() {
			again, err := Connect(ctx, dsn, nil)
			if err != nil {
				trouble = err.Error()
				continue
			}
			s.Close()
			s = again
		}
		next, err := s.snap(ctx, console)
		if err != nil {
			trouble = err.Error()
			continue
		}
		before, now, trouble = now, next, ""
	}
}

// draw draws a frame over the one before it.
func draw(out *os.File, now, before *snapshot, trouble string) error {
	width, height, err := term.GetSize(int(out.Fd()))
	if err != nil || width <= 0 || height <= 0 {
		width, height = 80, 24
	}
	foot := "q quits"
	if trouble != "" {
		foot = "not reached since " + now.at.Format("15:04:05") + ": " + Visible(trouble)
	}
	lines := append(frame(now, before, width, height-1), cut(foot, width))
	if len(lines) > height {
		lines = lines[:height]
	}
	_, err = io.WriteString(out, home+strings.Join(lines, restOf+"\r\n")+restOf+restAll)
	return err
}

// readKeys gives what is typed, byte by byte. Its goroutine ends with in, or with the first key after ctx has ended.
func readKeys(ctx context.Context, in io.Reader) <-chan byte {
	keys := make(chan byte)
	go func() {
		defer close(keys)
		var one [1]byte
		for {
			if n, err := in.Read(one[:]); err != nil || n == 0 {
				return
			}
			select {
			case keys <- one[0]:
			case <-ctx.Done():
				return
			}
		}
	}()
	return keys
}
