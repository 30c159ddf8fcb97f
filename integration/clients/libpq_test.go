package clients

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"mbusproxy/integration/internal/harness"
	"mbusproxy/integration/internal/programs"
)

// envLibpq names another libpq than the machine's own; scripts/versions.sh sets it to one that knows protocol
// 3.2.
const envLibpq = "MBUS_LIBPQ"

// TestLibpq connects and cancels with libpq itself. The protocol that is agreed upon is the one agreed upon with the
// server, and a cancel key of any size works.
func TestLibpq(t *testing.T) {
	t.Parallel()
	programs.NeedFile(t, programs.Python, "python3")
	database := harness.NewDatabase(t)
	cert, key := certificate(t)
	secure := harness.NewProxy(t, "--tls-cert", cert, "--tls-key", key)
	newest := "protocol 30000"
	if harness.ServerMajor(t) >= 18 {
		newest = "protocol 30002"
	}
	library, settings := "libpq.so.5", map[string]string{"": "protocol 30000"}
	if other := os.Getenv(envLibpq); other != "" {
		library = other
		settings = map[string]string{
			"max_protocol_version=3.0":                             "protocol 30000",
			"max_protocol_version=3.2":                             newest,
			"max_protocol_version=latest":                          newest,
			"min_protocol_version=3.0 max_protocol_version=latest": newest,
		}
	}
	for setting, protocol := range settings {
		for _, way := range []struct {
			name string
			harness.Endpoint
			sslmode string
		}{
			{"direct", harness.Direct(), "disable"}, {"proxied", harness.Proxied(), "disable"}, {"proxied, TLS", secure.Endpoint, "require"},
		} {
			t.Run(strings.TrimSpace(way.name+" "+setting), func(t *testing.T) {
				t.Parallel()
				conninfo := fmt.Sprintf("host=%s port=%d dbname=%s user=postgres sslmode=%s %s",
					way.Host, way.Port, database, way.sslmode, setting)
				got := programs.Run(t, nil, "", "", programs.Python, "python/libpq_client.py", library, conninfo)
				lines := strings.Split(strings.TrimSuffix(got.Stdout, "\n"), "\n")
				if got.Status != 0 || len(lines) < 4 || lines[0] != protocol {
					t.Fatalf("status %d, want %s\n%s%s", got.Status, protocol, got.Stdout, got.Stderr)
				}
				cancelled := strings.Count(got.Stdout, "cancelled 57014\n")
				if want := len(lines) - 3; cancelled != want || want < 1 || lines[1] != "ran 2" || lines[len(lines)-1] != "ran 4" {
					t.Errorf("%s%s", got.Stdout, got.Stderr)
				}
			})
		}
	}
}
