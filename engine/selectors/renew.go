package selectors

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"mbusproxy/engine/refusal"
	"mbusproxy/rewrite/parse"
	"mbusproxy/selector"
)

const badSelectorsShown = 20

// Stale reports whether there are selectors that another server or an older program made. What a newer
// one made is left alone.
func Stale(ctx context.Context, conn *pgx.Conn, major int) (stale bool, err error) {
	err = conn.QueryRow(ctx, `select exists (select from mbus4.selector where version < $1 or major <> $2)`,
		selector.Version, major).Scan(&stale)
	if err != nil {
		return false, fmt.Errorf("looking for selectors of other versions: %w", err)
	}
	return stale, nil
}

// Compiling says for what and how the selectors of a database are compiled.
type Compiling struct {
	Database string // its name, for errors
	Role     string // the engine's own, which makes the rows
	Env      selector.Env
	Parser   *parse.Parser
	// DisableBad has selectors that are refused select nothing from then on; else they make the compiling fail.
	DisableBad bool
}

// usedSelector is a text that consumers or triggers use.
type usedSelector struct {
	text string
	by   []string // "queue q, consumer c", at most badSelectorsShown
}

// Renew compiles the selectors that another version made. Those that nobody uses go.
func Renew(ctx context.Context, tx pgx.Tx, how Compiling) (warnings []string, err error) {
	if _, err := tx.Exec(ctx, `lock table mbus4.selector in share row exclusive mode`); err != nil {
		return nil, fmt.Errorf("waiting to make selectors again: %w", err)
	}
	_, err = tx.Exec(ctx, `
		delete from mbus4.selector s
		where (s.version < $1 or s.major <> $2) and not exists (select from mbus4.consumer c where c.selector_id = s.id)`,
		selector.Version, how.Env.Major)
	if err != nil {
		return nil, fmt.Errorf("removing selectors nobody uses: %w", err)
	}
	return compileUsed(ctx, tx, how, fmt.Sprintf(
		`exists (select from mbus4.selector s where s.id = c.selector_id and (s.version < %d or s.major <> %d))`, selector.Version, how.Env.Major))
}

// compileUsed compiles the selectors of the consumers that a condition names and stores them. Where some are refused
// it fails and lists them; with how.DisableBad they are stored as what selects nothing, and listed among the warnings.
func compileUsed(ctx context.Context, tx pgx.Tx, how Compiling, condition string) (warnings []string, err error) {
	rows, err := tx.Query(ctx, `
		select c.selector, (pg_catalog.array_agg(
		           case when c.target is null then pg_catalog.format('queue %s, consumer %s', c.qname, c.name)
		                else pg_catalog.format('queue %s, trigger to %s', c.qname, c.target) end order by c.id))[:`+fmt.Sprint(badSelectorsShown)+`]
		from mbus4.consumer c
		where `+condition+`
		group by c.selector
		order by pg_catalog.min(c.id)`)
	if err != nil {
		return nil, fmt.Errorf("listing selectors: %w", err)
	}
	used, err := pgx.CollectRows(rows, func(r pgx.CollectableRow) (u usedSelector, err error) {
		return u, r.Scan(&u.text, &u.by)
	})
	if err != nil {
		return nil, fmt.Errorf("listing selectors: %w", err)
	}
	var bad []string
	for _, u := range used {
		row, err := compile(ctx, how.Parser, u.text, how.Env)
		var refused *refusal.Error
		if errors.As(err, &refused) {
			for _, by := range u.by {
				bad = append(bad, by+": "+refused.Message+hinted(refused.Hint))
			}
			row = selectorRow{id: rowID(u.text), text: u.text, condition: "0", refused: refused.Message, env: how.Env}
		} else if err != nil {
			return nil, err
		}
		if err := replace(ctx, tx, how.Role, row); err != nil {
			return nil, err
		}
	}
	switch {
	case len(bad) == 0:
		return warnings, nil
	case how.DisableBad:
		for _, b := range bad {
			warnings = append(warnings, "selects nothing any more: "+b)
		}
		return warnings, nil
	}
	shown := bad
	if len(shown) > badSelectorsShown {
		shown = append(shown[:badSelectorsShown:badSelectorsShown], fmt.Sprintf("and %d more", len(bad)-badSelectorsShown))
	}
	return nil, &refusal.Error{
		Code:    refusal.NotInRequiredState,
		Message: fmt.Sprintf("database %q has selectors that are no longer allowed: %s", how.Database, strings.Join(shown, "; ")),
		Hint: "Drop these consumers and triggers and create them anew once this program serves the database, or keep them with --disable-bad-selectors: " +
			"then they get no more messages.",
	}
}

func hinted(hint string) string {
	if hint == "" {
		return ""
	}
	return " (" + hint + ")"
}

// replace stores a row and has its consumers refer to it: before there were rows, the id was of the text in
// the database's encoding.
func replace(ctx context.Context, tx pgx.Tx, role string, row selectorRow) error {
	var found string
	err := tx.QueryRow(ctx, `select text from mbus4.selector where id = $1`, row.id).Scan(&found)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		err = insert(ctx, tx, role, row)
	case err != nil:
		err = fmt.Errorf("looking for a selector: %w", err)
	case found != row.text:
		err = fmt.Errorf("the selectors %s and %s have the same md5 prefix", found, row.text)
	default:
		return update(ctx, tx, row)
	}
	if err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, `update mbus4.consumer set selector_id = $1 where selector = $2 and selector_id is not null`, row.id, row.text); err != nil {
		return fmt.Errorf("making consumers refer to a selector: %w", err)
	}
	if err := spread(ctx, tx, row.id); err != nil {
		return fmt.Errorf("making consumers refer to a selector: %w", err)
	}
	return nil
}
