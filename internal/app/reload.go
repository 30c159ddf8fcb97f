package app

import (
	"crypto/tls"
	"reflect"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"mbusproxy/proxy"
)

// Reload is the outcome of reading the configuration again while the proxy runs.
type Reload struct {
	Config Config
	Err    error // the configuration makes no sense: all stays as it is
	// Done is called when it has been taken over, or not; nil: nobody is told.
	Done func()
}

// reloader changes what can be changed in a running proxy.
type reloader struct {
	server  *proxy.Server
	running Config // what is in force
	log     *zap.Logger
	level   zap.AtomicLevel
}

// reload takes over certificate, limits and log level, and logs what would need a new start. With
// a certificate that cannot be used the old one stays, and the rest is taken over.
func (r *reloader) reload(again Reload) {
	if again.Done != nil {
		defer again.Done()
	}
	if again.Err != nil {
		r.log.Error("configuration not reloaded", zap.Error(again.Err))
		return
	}
	next := again.Config
	limits := proxy.Limits{
		MaxConnections: next.MaxConnections, StartupTimeout: next.StartupTimeout, DrainTimeout: next.DrainTimeout,
	}
	var err error
	if limits.TLS, err = loadTLS(next); err != nil {
		r.log.Error("certificate not reloaded, the old one stays", zap.Error(err))
		limits.TLS = r.server.TLS()
		next.TLSCert, next.TLSKey = r.running.TLSCert, r.running.TLSKey
	}
	if err := r.server.Reload(limits); err != nil { // TLS was required at the start, and limits have none
		r.log.Error("configuration not reloaded", zap.Error(err))
		return
	}
	if l, err := zapcore.ParseLevel(next.LogLevel); err == nil {
		r.level.SetLevel(l)
	}
	for _, flag := range fixed(r.running, next) {
		r.log.Warn("this setting takes effect with the next start only", zap.String("setting", flag))
	}
	r.running.TLSCert, r.running.TLSKey = next.TLSCert, next.TLSKey
	r.running.MaxConnections, r.running.StartupTimeout = next.MaxConnections, next.StartupTimeout
	r.running.DrainTimeout, r.running.LogLevel = next.DrainTimeout, next.LogLevel
	fields := []zap.Field{
		zap.Int("max-connections", next.MaxConnections), zap.Duration("startup-timeout", next.StartupTimeout),
		zap.Duration("drain-timeout", next.DrainTimeout), zap.String("log-level", next.LogLevel),
	}
	if leaf := validUntil(limits.TLS); leaf != "" {
		fields = append(fields, zap.String("certificate until", leaf))
	}
	r.log.Info("configuration reloaded", fields...)
}

// fixed returns the flags of the settings that differ but take effect at the next start only.
func fixed(running, next Config) []string {
	var flags []string
	a, b := reflect.ValueOf(running), reflect.ValueOf(next)
	for i := range a.NumField() {
		flag := a.Type().Field(i).Tag.Get("fixed")
		if flag != "" && !reflect.DeepEqual(a.Field(i).Interface(), b.Field(i).Interface()) {
			flags = append(flags, flag)
		}
	}
	return flags
}

// validUntil returns until when the certificate is valid, "" without one.
func validUntil(cfg *tls.Config) string {
	if cfg == nil || len(cfg.Certificates) == 0 || cfg.Certificates[0].Leaf == nil {
		return ""
	}
	return cfg.Certificates[0].Leaf.NotAfter.UTC().Format("2006-01-02 15:04:05Z")
}
