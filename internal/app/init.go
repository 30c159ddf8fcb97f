package app

import (
	"context"
	"fmt"
	"strings"

	"mbusproxy/engine"
)

// Init creates or upgrades the schema mbus4 in the database that dsn names and says in a line what
// it did, with a further line for each thing that could not be done and is not vital. disableBad: see
// engine.Options.DisableBadSelectors.
func Init(ctx context.Context, dsn string, disableBad bool) (string, error) {
	start := engine.Init
	if disableBad {
		start = engine.InitDisablingSelectors
	}
	r, err := start(ctx, dsn)
	if err != nil {
		return "", told(err)
	}
	var said string
	switch {
	case r.Before == 0:
		said = fmt.Sprintf("database %s: schema mbus4 created, version %d", r.Database, r.After)
	case r.Before != r.After:
		said = fmt.Sprintf("database %s: schema mbus4 upgraded from version %d to %d", r.Database, r.Before, r.After)
	default:
		said = fmt.Sprintf("database %s: schema mbus4 is up to date, version %d", r.Database, r.After)
	}
	return strings.Join(append([]string{said}, r.Warnings...), "\nwarning: "), nil
}
