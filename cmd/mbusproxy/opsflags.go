package main

import (
	"time"

	"mbusproxy/internal/app"
)

const defaultKeepAlive = time.Minute

// withOperations gives serve the flags about sockets and handover.
func (f *flagSet) withOperations(cfg *app.Config) {
	f.BoolVar(&cfg.ReusePort, "reuse-port", false, "share the addresses with another mbusproxy, so that a new process can take over from an old one (Linux)")
	f.DurationVar(&cfg.KeepAlive, "tcp-keepalive", defaultKeepAlive, "`TIME` of silence after which a client or server is probed; it is given up after as long again; 0s means never")
	f.DurationVar(&cfg.UserTimeout, "tcp-user-timeout", 0, "`TIME` that sent bytes may stay unacknowledged or untaken before the connection is given up (Linux); 0s means as the system has it")
}

// checkOperations looks at the values of these flags.
func (f *flagSet) checkOperations(cfg *app.Config) error {
	switch {
	case cfg.KeepAlive < 0:
		return f.misuse("--tcp-keepalive cannot be negative")
	case cfg.KeepAlive > 0 && cfg.KeepAlive < time.Second:
		return f.misuse("--tcp-keepalive is a second at least")
	case cfg.UserTimeout < 0:
		return f.misuse("--tcp-user-timeout cannot be negative")
	}
	if cfg.KeepAlive == 0 {
		cfg.KeepAlive = -1 // none, in app.Config
	}
	return nil
}
