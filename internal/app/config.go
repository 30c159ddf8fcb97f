package app

import (
	"io"
	"time"
)

// Config is everything `mbusproxy serve` can be told.
type Config struct {
	Listen         []string      // "host:port" or the directory of a unix socket
	Upstream       string        // DSN or URL of the server that sessions go to
	Admin          string        // DSN or URL of the role for the engine's own work
	NoInit         bool          // do not create or upgrade the schema
	TLSCert        string        // PEM file with the certificate shown to clients; "": no TLS
	TLSKey         string        // PEM file with its key
	TLSRequired    bool          // refuse clients without TLS
	MaxConnections int           // 0: no limit
	StartupTimeout time.Duration // what a client has for TLS and authentication
	DrainTimeout   time.Duration // what busy sessions get at the end
	// SemaphoreInterval is the time between two full passes over the semaphores; 0: the engine's default.
	SemaphoreInterval time.Duration
	LogLevel          string    // debug, info, warn or error
	LogTo             io.Writer // where the log goes; nil: nowhere
}
