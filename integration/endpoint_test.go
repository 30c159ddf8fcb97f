package integration

import "fmt"

// endpoint is a way to the cluster.
type endpoint struct {
	name string
	host string
	port int
}

// dsn names a database behind the endpoint, for the superuser of the throw-away cluster.
func (e endpoint) dsn(database string) string {
	return fmt.Sprintf("host=%s port=%d user=postgres dbname=%s sslmode=disable", e.host, e.port, database)
}

// url is dsn for clients that want a URL.
func (e endpoint) url(database string) string {
	return fmt.Sprintf("postgres://postgres@%s:%d/%s?sslmode=disable", e.host, e.port, database)
}
