package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"

	"mbusproxy/internal/app"
)

// untilSignal returns a context that ends at the first SIGINT or SIGTERM. At the second one it calls
// atOnce and ends the program. The function returned takes the handler away again.
func untilSignal(atOnce func()) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	got := make(chan os.Signal, 2)
	signal.Notify(got, os.Interrupt, syscall.SIGTERM)
	gone := make(chan struct{})
	go func() {
		for n := 0; ; n++ {
			select {
			case <-gone:
				return
			case <-got:
			}
			if n > 0 {
				atOnce()
				os.Exit(exitFailure)
			}
			cancel()
		}
	}()
	return ctx, func() {
		signal.Stop(got)
		close(gone)
		cancel()
	}
}

// onHangup reads the configuration again at each SIGHUP, until ctx ends.
func onHangup(ctx context.Context, read func() app.Reload) <-chan app.Reload {
	got := make(chan os.Signal, 1) // a signal that waits to be received stands for those that follow it
	signal.Notify(got, syscall.SIGHUP)
	reloads := make(chan app.Reload)
	go func() {
		defer signal.Stop(got)
		for {
			select {
			case <-got:
			case <-ctx.Done():
				return
			}
			select {
			case reloads <- read():
			case <-ctx.Done():
				return
			}
		}
	}()
	return reloads
}

// unlessTold returns nil for the error of a start that failed because a signal had ended ctx.
func unlessTold(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}
