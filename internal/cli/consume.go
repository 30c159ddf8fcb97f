package cli

import (
	"context"
	"fmt"
	"os"

	"github.com/jackc/pgx/v5"
)

// Consumption says what Consume takes.
type Consumption struct {
	Queue, Consumer string
	Amount          int    // at most
	Wait            string // an interval; "": it does not wait
}

// Consume takes messages and writes them, in a transaction that commits after they were written:
// where that fails, or the program ends, they stay where they were. Where the commit fails they
// have been written and come again. Where there is none it returns ErrNothing.
func (s *Session) Consume(ctx context.Context, c Consumption, out Out) error {
	var wait *string
	if c.Wait != "" {
		wait = &c.Wait
	}
	return s.act(ctx, func(ctx context.Context, _ pgx.Tx) error {
		r, err := s.query(ctx, `select iid, added, delayed_until, expires, headers, properties, data, payload
from mbus4.consume_json($1, $2, amt => $3, wait => $4)`, c.Queue, c.Consumer, c.Amount, wait)
		if err != nil {
			return err
		}
		if err := out.writeOne(r); err != nil {
			return fmt.Errorf("writing: %w", err)
		}
		if err := out.settle(); err != nil {
			return fmt.Errorf("writing: %w", err)
		}
		return r.orNothing()
	})
}

// settle has what was written to a file reach the disk. Others than files take it at once.
func (o Out) settle() error {
	file, ok := o.W.(*os.File)
	if !ok {
		return nil
	}
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return err
	}
	return file.Sync()
}
