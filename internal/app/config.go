package app

import (
	"io"
	"net"
	"time"

	"mbusproxy/rewrite/detect"
)

// Config is everything `mbusproxy serve` can be told. The tag fixed names the flag of a setting that a
// reload does not change.
type Config struct {
	Listen []string `fixed:"--listen"` // "host:port" or the directory of a unix socket
	// Sockets are listened on by a service manager and served in place of Listen.
	Sockets  []net.Listener
	Upstream string `fixed:"--upstream"` // DSN or URL of the server that sessions go to
	Admin    string `fixed:"--admin"`    // DSN or URL of the role for the engine's own work
	NoInit   bool   `fixed:"--no-init"`  // do not create or upgrade the schema
	// NoPrepare says that calls which are sent again and again are not run by prepared statements.
	NoPrepare bool `fixed:"--no-prepare"`
	// DisableBadSelectors has an upgrade keep consumers whose selectors are refused by now, without messages.
	DisableBadSelectors bool          `fixed:"--disable-bad-selectors"`
	TLSCert             string        // PEM file with the certificate shown to clients; "": no TLS
	TLSKey              string        // PEM file with its key
	TLSRequired         bool          `fixed:"--tls-required"` // refuse clients without TLS
	MaxConnections      int           // 0: no limit
	StartupTimeout      time.Duration // what a client has for TLS and authentication
	DrainTimeout        time.Duration // what busy sessions get when the program is to end
	// SemaphoreInterval is the time between two full passes over the semaphores; 0: the engine's default.
	SemaphoreInterval time.Duration `fixed:"--semaphore-interval"`
	// WaitSweep is the time between two looks, for all calls that wait, for messages that were
	// posted past the proxies; 0: the engine's default.
	WaitSweep   time.Duration `fixed:"--wait-sweep"`
	KeepAlive   time.Duration `fixed:"--tcp-keepalive"`    // of TCP; 0: 60 seconds, less: none
	UserTimeout time.Duration `fixed:"--tcp-user-timeout"` // of TCP; 0: the system's
	ReusePort   bool          `fixed:"--reuse-port"`       // share the addresses, for a handover
	// Unqualified lists the functions that are served without their schema, too; see detect.NewUnqualified.
	Unqualified []string `fixed:"--unqualified"`
	HTTP        string   `fixed:"--http"`       // "host:port" for metrics, health and the page; "": none
	HTTPPlain   bool     `fixed:"--http-plain"` // serve the page without TLS on any address
	PageTrust   bool     // let those log in to the page whom the server asks for no password
	// Trace is the URL of a collector that spans go to, or tracing.FromEnvironment; "": nothing is traced.
	Trace       string `fixed:"--trace"`
	ConsoleRole string `fixed:"--console-role"`     // whose members may use the console; "": there is none
	ConsoleName string `fixed:"--console-database"` // the database that the console is
	Version     string // of the program
	// Reload and Shutdown are what the console's commands of these names do; nil: they are refused.
	Reload   func() error
	Shutdown func(wait bool) error
	LogLevel string        // debug, info, warn or error
	LogTo    io.Writer     // where the log goes; nil: nowhere
	Reloads  <-chan Reload // nil: the configuration is never read again
	// Stopping is called when the proxy begins to drain, with the time that it may take; nil: nobody is told.
	Stopping func(limit time.Duration)
}

// CheckUnqualified reports what is wrong with a list for Config.Unqualified.
func CheckUnqualified(list []string) error {
	_, err := detect.NewUnqualified(list)
	return err
}
