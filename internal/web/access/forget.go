package access

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// forgetter takes the password out of what a connection keeps of its configuration, once that is
// made: pgx hands the configuration that it keeps to tracers, and to nobody else. It traces
// nothing.
type forgetter struct{ kept *pgx.ConnConfig }

// TraceConnectStart is told what the connection keeps.
func (f *forgetter) TraceConnectStart(ctx context.Context, data pgx.TraceConnectStartData) context.Context {
	f.kept = data.ConnConfig
	return ctx
}

// TraceConnectEnd takes the password out of it.
func (f *forgetter) TraceConnectEnd(context.Context, pgx.TraceConnectEndData) {
	if f.kept != nil {
		f.kept.Password = ""
	}
	f.kept = nil
}

// TraceQueryStart does nothing.
func (f *forgetter) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	return ctx
}

// TraceQueryEnd does nothing.
func (f *forgetter) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}
