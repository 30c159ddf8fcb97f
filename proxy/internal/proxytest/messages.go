package proxytest

import (
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"
)

// Texts for tests of prelude statements. Each run of CountStep adds one to a counter that LateText, and
// any other text, can read; so a prelude statement that is missed or runs once too often shows.
const (
	Counter   = "coalesce(current_setting('mbus4.n', true), '')"
	CountStep = "select set_config('mbus4.n', " + Counter + " || 'x', false)"
	LateText  = "/*late " + CountStep + "*/ select " + Counter
)

// Messages makes a list.
func Messages(m ...pgproto3.FrontendMessage) []pgproto3.FrontendMessage { return m }

// Query makes a Query.
func Query(text string) pgproto3.FrontendMessage { return &pgproto3.Query{String: text} }

// Parse makes a Parse without types of parameters.
func Parse(name, text string) pgproto3.FrontendMessage {
	return &pgproto3.Parse{Name: name, Query: text}
}

// Bind makes a Bind without parameters.
func Bind(portal, statement string) pgproto3.FrontendMessage {
	return &pgproto3.Bind{DestinationPortal: portal, PreparedStatement: statement}
}

// Execute makes an Execute of all rows.
func Execute(portal string) pgproto3.FrontendMessage { return &pgproto3.Execute{Portal: portal} }

// Sync makes a Sync.
func Sync() pgproto3.FrontendMessage { return &pgproto3.Sync{} }

// Encoded is what messages are on the wire.
func Encoded(t testing.TB, messages ...pgproto3.FrontendMessage) (b []byte) {
	t.Helper()
	for _, m := range messages {
		var err error
		if b, err = m.Encode(b); err != nil {
			t.Fatal(err)
		}
	}
	return b
}
