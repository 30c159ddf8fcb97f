package selectors

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"mbusproxy/engine/admin"
	"mbusproxy/engine/refusal"
	"mbusproxy/rewrite/parse"
	"mbusproxy/selector"
)

const (
	maxSelectors       = 20000            // rows in a database, used or not
	maxSelectorsOfRole = maxSelectors / 2 // of those that one login role made
	selectorsAtOnce    = 4                // connections that make them, for each database

	ensureTimeout      = 30 * time.Second // of one check, connecting included
	selectorRemembered = 20 * time.Second // how long a row that was found is taken for granted
	selectorRefresh    = time.Minute      // a row older than this is marked as wanted again
	selectorGrace      = 2 * time.Minute  // what the statement has that wants it, while rows are scarce
	selectorLife       = time.Hour        // a row that no consumer uses goes after this
)

// Maker makes the rows of the selectors that consumers and triggers use. It is safe for concurrent use.
//
// A selector is compiled in Go and its row made, and committed, before the call that uses it runs.
// A row's condition never changes what it means, so nothing can be stale: whoever sees a consumer's
// row sees the selector it refers to, for that was committed before. Between making a row and using
// it selectorGrace may pass, less selectorRemembered; after that the row may have been removed, and
// the call fails with the message that the selector is not known.
//
// Only the schema's owner may write the rows, and they are made only where the session's role may make use of
// them. Nothing of a client's is evaluated in making one.
type Maker struct {
	server   *admin.Server
	database string
	env      selector.Env
	parser   *parse.Parser

	turns chan struct{} // one for each of selectorsAtOnce

	mu      sync.Mutex
	checked map[string]time.Time // by text: when the row was last seen
}

// NewMaker makes a Maker for a database whose schema is installed.
func NewMaker(server *admin.Server, database string, env selector.Env, parser *parse.Parser) *Maker {
	return &Maker{server: server, database: database, env: env, parser: parser, turns: make(chan struct{}, selectorsAtOnce), checked: map[string]time.Time{}}
}

// Use is what a call wants with a selector.
type Use struct {
	Role      string // the session's login role
	Temporary bool   // the call is create_temporary_consumer or redrive, which take less rights
	Text      string // the selector
}

// Ensure checks a selector and makes its row unless it is there. A refusal is a *refusal.Error. An
// empty selector selects everything and needs no row. Where neither the role nor one that it is a
// member of may do what the call does, nothing is checked nor made: the server will refuse the
// call.
func (s *Maker) Ensure(ctx context.Context, use Use) error {
	if s.Known(use.Text) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, ensureTimeout)
	defer cancel()
	select {
	case s.turns <- struct{}{}:
		defer func() { <-s.turns }()
	case <-ctx.Done():
		return fmt.Errorf("waiting to check a selector: %w", ctx.Err())
	}
	made, err := s.ensure(ctx, use)
	if err != nil {
		return refusal.Wrap("checking a selector", err)
	}
	if made {
		s.remember(use.Text)
	}
	return nil
}

// ensure reports whether the row is there.
func (s *Maker) ensure(ctx context.Context, use Use) (made bool, err error) {
	conn, err := s.server.Connect(ctx, s.database)
	if err != nil {
		return false, err
	}
	defer admin.Close(ctx, conn)
	if err := admin.Settle(ctx, conn, admin.CallLockWait); err != nil {
		return false, err
	}
	may, err := mayUse(ctx, conn, use)
	if err != nil || !may {
		return false, err
	}
	row, err := compile(ctx, s.parser, use.Text, s.env)
	if err != nil {
		return false, err
	}
	return true, store(ctx, conn, use.Role, row)
}

// Known reports whether a selector needs no row, or has been found to have one just now: then Ensure would do nothing.
func (s *Maker) Known(text string) bool {
	if strings.TrimSpace(text) == "" {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Since(s.checked[text]) < selectorRemembered
}

func (s *Maker) remember(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.checked) >= 1000 {
		clear(s.checked)
	}
	s.checked[text] = time.Now()
}

// Whether the role itself or one that it can become has the right to do what a call with a selector does.
const mayUseSQL = `
select exists (
	select from pg_catalog.pg_roles r
	where pg_catalog.pg_has_role(u.oid, r.oid, 'member')
	  and pg_catalog.has_schema_privilege(r.oid, 'mbus4', 'usage')
	  and case when $2
	           then exists (select from pg_catalog.pg_proc p
	                        where p.pronamespace = 'mbus4'::regnamespace and p.proname = 'new_temporary_consumer'
	                          and pg_catalog.has_function_privilege(r.oid, p.oid, 'execute'))
	           else pg_catalog.has_table_privilege(r.oid, 'mbus4.consumer', 'insert') end)
from pg_catalog.pg_roles u
where u.rolname = $1::name`

func mayUse(ctx context.Context, conn *pgx.Conn, use Use) (may bool, err error) {
	err = conn.QueryRow(ctx, mayUseSQL, use.Role, use.Temporary).Scan(&may)
	if errors.Is(err, pgx.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("looking for the rights of role %s: %w", use.Role, err)
	}
	return may, nil
}
