package harness

import "fmt"

// Endpoint is a way to the cluster.
type Endpoint struct {
	Name string
	Host string
	Port int
}

// DSN names a database behind the endpoint, for the superuser of the throw-away cluster.
func (e Endpoint) DSN(database string) string {
	return fmt.Sprintf("host=%s port=%d user=postgres dbname=%s sslmode=disable", e.Host, e.Port, database)
}

// URL is DSN for clients that want a URL.
func (e Endpoint) URL(database string) string {
	return fmt.Sprintf("postgres://postgres@%s:%d/%s?sslmode=disable", e.Host, e.Port, database)
}
