package engine

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// Database is one served database. It stays valid after the engine has dropped it, as a name.
type Database struct {
	engine       *Engine
	name         string
	hstoreSchema string
	keeper       *keeper
}

// Name is the database's name.
func (d *Database) Name() string { return d.name }

// HstoreSchema is the name of the schema the extension hstore lives in, quoted where it has to be:
// ready for an SQL text.
func (d *Database) HstoreSchema() string { return d.hstoreSchema }

// Ordered reports whether messages wait for others in the database, as far as is known here. Once it
// does, it stays so.
func (d *Database) Ordered() bool { return d.keeper.ordered.Load() }

// NoteOrder tells that a message is about to be posted that may wait for others.
func (d *Database) NoteOrder() { d.keeper.ordered.Store(true) }

// Selective reports whether consumers or triggers of the database have selectors, as far as is known
// here. Once they do, it stays so.
func (d *Database) Selective() bool { return d.keeper.selective.Load() }

// SweepOnce removes what is to be removed now, over a connection of its own, and gives the number
// of rows. The services do the same in the background.
func (d *Database) SweepOnce(ctx context.Context) (int64, error) {
	var swept int64
	err := d.withConn(ctx, func(conn *pgx.Conn) error {
		var err error
		swept, err = NewSweeper().Sweep(ctx, conn)
		return err
	})
	return swept, err
}

func (d *Database) withConn(ctx context.Context, do func(*pgx.Conn) error) error {
	conn, err := d.engine.connect(ctx, d.name)
	if err != nil {
		return err
	}
	defer closeQuietly(ctx, conn)
	if err := settleWaiting(ctx, conn, callLockWait); err != nil {
		return err
	}
	return do(conn)
}
