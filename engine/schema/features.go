package schema

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
)

// Features tells which features that make the SQL of calls dearer a database uses, as far as this program knows. A feature
// once in use counts as in use from then on. It is safe for concurrent use.
type Features struct {
	ordered   atomic.Bool
	selective atomic.Bool
}

// Ordered reports whether messages wait for others, or did.
func (f *Features) Ordered() bool { return f.ordered.Load() }

// NoteOrdered tells that messages wait for others, or may soon.
func (f *Features) NoteOrdered() { f.ordered.Store(true) }

// Selective reports whether consumers or triggers have selectors, or had.
func (f *Features) Selective() bool { return f.selective.Load() }

// NoteSelective tells that a consumer or a trigger has a selector, or may soon.
func (f *Features) NoteSelective() { f.selective.Store(true) }

// FindSelectors finds out whether selectors are in use.
func (f *Features) FindSelectors(ctx context.Context, conn *pgx.Conn) error {
	if f.Selective() {
		return nil
	}
	var selective bool
	err := conn.QueryRow(ctx, `select exists (select from mbus4.consumer where selector_id is not null)`).Scan(&selective)
	if err != nil {
		return fmt.Errorf("looking for selectors: %w", err)
	}
	if selective {
		f.NoteSelective()
	}
	return nil
}
