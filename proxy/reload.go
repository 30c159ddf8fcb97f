package proxy

import (
	"crypto/tls"
	"time"
)

// Limits are the parts of a Config that a Server can change while it serves; see there.
type Limits struct {
	TLS            *tls.Config
	MaxConnections int
	StartupTimeout time.Duration
	DrainTimeout   time.Duration
}

// Limits returns those in force for new sessions.
func (s *Server) Limits() Limits { return *s.limits.Load() }

func (cfg Config) limits() *Limits {
	return &Limits{
		TLS: cfg.TLS, MaxConnections: cfg.MaxConnections,
		StartupTimeout: cfg.StartupTimeout, DrainTimeout: cfg.DrainTimeout,
	}
}

// Reload puts other limits in force for clients that come from now on, and for the next Shutdown.
// Sessions that run stay as they are, also when they are more than MaxConnections. On an error
// nothing changes.
func (s *Server) Reload(l Limits) error {
	cfg := s.cfg
	cfg.TLS, cfg.MaxConnections = l.TLS, l.MaxConnections
	cfg.StartupTimeout, cfg.DrainTimeout = l.StartupTimeout, l.DrainTimeout
	cfg, err := cfg.complete()
	if err != nil {
		return err
	}
	s.limits.Store(cfg.limits())
	return nil
}

// TLS is the configuration towards clients that is in force; nil: none. It must not be changed.
func (s *Server) TLS() *tls.Config { return s.limits.Load().TLS }
