package app

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"mbusproxy/internal/told"
	"mbusproxy/proxy/listen"
)

// maxHealthAnswer bounds what is read of an answer.
const maxHealthAnswer = 4 << 10

// HealthConfig says where a proxy on this machine can be asked.
type HealthConfig struct {
	HTTP    string        // as in Config; "": by Listen
	Listen  []string      // as in Config
	Timeout time.Duration // for the whole answer
}

// CheckHealth returns nil if a proxy on this machine serves clients, else an error of type *told.Error.
func CheckHealth(cfg HealthConfig) error {
	ctx, cancel := context.WithTimeout(context.Background(), cfg.Timeout)
	defer cancel()
	err := askListeners(ctx, cfg.Listen)
	if cfg.HTTP != "" {
		err = askHTTP(ctx, cfg.HTTP)
	}
	if err != nil {
		return &told.Error{Message: fmt.Sprintf("the proxy does not serve clients: %v", err), Hint: "its log says why; --http and --listen are those that it runs with", Err: err}
	}
	return nil
}

// askHTTP asks /readyz.
func askHTTP(ctx context.Context, address string) error {
	address, err := here(address)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/readyz", http.NoBody)
	if err != nil {
		return err
	}
	direct := &http.Transport{Proxy: nil, DisableKeepAlives: true} // whatever $HTTP_PROXY says
	res, err := direct.RoundTrip(req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(res.Body, maxHealthAnswer))
	if err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", res.Status, strings.TrimSpace(string(text)))
	}
	return nil
}

// askListeners asks each address whether it has TLS, which a proxy answers without logging anybody in.
func askListeners(ctx context.Context, addresses []string) error {
	sockets, err := listen.Sockets(addresses)
	if err != nil {
		return err
	}
	for _, s := range sockets {
		address := s.Address
		if s.Network == "tcp" {
			if address, err = here(address); err != nil {
				return err
			}
		}
		if err := askTLS(ctx, s.Network, address); err != nil {
			return fmt.Errorf("%s: %w", address, err)
		}
	}
	return nil
}

// sslRequest is the message of that name: its length and the code 80877103 (NEGOTIATE_SSL_CODE in pqcomm.h).
var sslRequest = [8]byte{0, 0, 0, 8, 4, 210, 22, 47}

// askTLS sends an SSLRequest, of which every server of the protocol says S or N.
func askTLS(ctx context.Context, network, address string) error {
	var d net.Dialer
	conn, err := d.DialContext(ctx, network, address)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	if deadline, ok := ctx.Deadline(); ok {
		if err := conn.SetDeadline(deadline); err != nil {
			return err
		}
	}
	if _, err := conn.Write(sslRequest[:]); err != nil {
		return err
	}
	var answer [1]byte
	if _, err := io.ReadFull(conn, answer[:]); err != nil {
		return fmt.Errorf("reading the answer: %w", err)
	}
	if answer[0] != 'S' && answer[0] != 'N' {
		return fmt.Errorf("the answer is %q, and not that of a Postgres server", answer[0])
	}
	return nil
}

// here is how a program on the same machine reaches an address that is listened on: where it is
// every address, localhost.
func here(address string) (string, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return "", err
	}
	if ip := net.ParseIP(cmp.Or(host, "0.0.0.0")); ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
		if ip.To4() == nil {
			host = "::1"
		}
	}
	return net.JoinHostPort(host, port), nil
}
