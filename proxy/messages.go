package proxy

import (
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"
)

// Texts for tests of steps. Each run of countStep adds one to a counter that latePlan's text, and
// any other, can read; so a step that is missed or runs once too often shows.
const (
	counter   = "coalesce(current_setting('mbus4.n', true), '')"
	countStep = "select set_config('mbus4.n', " + counter + " || 'x', false)"
	lateText  = "/*late " + countStep + "*/ select " + counter
)

func msgs(m ...pgproto3.FrontendMessage) []pgproto3.FrontendMessage { return m }

func query(text string) pgproto3.FrontendMessage { return &pgproto3.Query{String: text} }

func parse(name, text string) pgproto3.FrontendMessage {
	return &pgproto3.Parse{Name: name, Query: text}
}

func bind(portal, statement string) pgproto3.FrontendMessage {
	return &pgproto3.Bind{DestinationPortal: portal, PreparedStatement: statement}
}

func execute(portal string) pgproto3.FrontendMessage { return &pgproto3.Execute{Portal: portal} }

func sync1() pgproto3.FrontendMessage { return &pgproto3.Sync{} }

// encoded is what messages are on the wire.
func encoded(t testing.TB, messages ...pgproto3.FrontendMessage) (b []byte) {
	t.Helper()
	for _, m := range messages {
		var err error
		if b, err = m.Encode(b); err != nil {
			t.Fatal(err)
		}
	}
	return b
}
