package parse

import "context"

// Client is for whom a text is parsed. The zero Client is the program itself.
type Client struct {
	Database, Role string
	// Served says that the role is known to have a right to what calls need in the database. Those of
	// whom it is not known wait behind those of whom it is.
	Served bool
}

type clientKey struct{}

// For returns a context whose texts are parsed for a client.
func For(ctx context.Context, c Client) context.Context {
	return context.WithValue(ctx, clientKey{}, c)
}

// clientOf returns for whom texts with this context are parsed.
func clientOf(ctx context.Context) Client {
	c, ok := ctx.Value(clientKey{}).(Client)
	if !ok {
		c.Served = true
	}
	return c
}
