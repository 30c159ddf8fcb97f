package main

import (
	"time"

	"mbusproxy/internal/app"
)

const defaultKeepAlive = time.Minute

// withOperations gives serve the flags about sockets and handover.
func (f *flagSet) withOperations(cfg *app.Config) {
	f.BoolVar(&cfg.ReusePort, "reuse-port", false, "share the addresses with another mbusproxy, so that a new process can take over from an old one (Linux only)")
	f.DurationVar(&cfg.KeepAlive, "tcp-keepalive", defaultKeepAlive, "`TIME` probe a client or server that has been silent for this long, and close the connection after as long again; 0s means never")
	f.DurationVar(&cfg.UserTimeout, "tcp-user-timeout", 0, "`TIME` close a connection whose other side has not acknowledged or taken what was sent for this long (Linux only); 0s means the system's default")
}

// checkOperations looks at the values of these flags.
func (f *flagSet) checkOperations(cfg *app.Config) error {
	switch {
	case cfg.KeepAlive < 0:
		return f.misuse("--tcp-keepalive cannot be negative")
	case cfg.KeepAlive > 0 && cfg.KeepAlive < time.Second:
		return f.misuse("--tcp-keepalive must be at least 1s")
	case cfg.UserTimeout < 0:
		return f.misuse("--tcp-user-timeout cannot be negative")
	}
	if cfg.KeepAlive == 0 {
		cfg.KeepAlive = -1 // none, in app.Config
	}
	return nil
}
