package selectors

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// What the tests, which open engines and so stand outside the package, use of its inside.
const (
	MaxSelectors       = maxSelectors
	MaxSelectorsOfRole = maxSelectorsOfRole
	MaxSlots           = maxSlots
)

// RowID is the key of a selector's row.
func RowID(text string) int64 { return rowID(text) }

// Collect removes the rows that nobody has used for selectorLife.
func Collect(ctx context.Context, tx pgx.Tx) (int64, error) { return collect(ctx, tx, selectorLife) }
