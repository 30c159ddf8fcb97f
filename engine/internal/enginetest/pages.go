package enginetest

import (
	"encoding/json"
	"testing"

	"github.com/jackc/pgx/v5"
)

// Pages is how many pages a statement touches; what it changes is undone. It is the least of some
// runs, of which the last two touch as many: one after which the server's caches were emptied,
// which a neighbour's DROP DATABASE does, touches the catalogs too, and what plans need are some
// thousand pages.
func Pages(t *testing.T, conn *pgx.Conn, sql string, args ...any) int {
	t.Helper()
	least := PagesOnce(t, conn, sql, args...)
	for last, n := least, 1; n < 10; n++ {
		now := PagesOnce(t, conn, sql, args...)
		least = min(least, now)
		if n > 1 && now == last {
			break
		}
		last = now
	}
	return least
}

// PagesOnce is how many pages one run of a statement touches; what it changes is undone.
func PagesOnce(t *testing.T, conn *pgx.Conn, sql string, args ...any) int {
	t.Helper()
	tx, err := conn.Begin(Context(t))
	if err != nil {
		t.Fatal(err)
	}
	text := One[string](t, conn, "explain (analyze, buffers, format json) "+sql, args...)
	if err := tx.Rollback(Context(t)); err != nil {
		t.Fatal(err)
	}
	var plans []struct {
		Plan struct {
			Hit         int `json:"Shared Hit Blocks"`
			Read        int `json:"Shared Read Blocks"`
			TempRead    int `json:"Temp Read Blocks"`
			TempWritten int `json:"Temp Written Blocks"`
		}
	}
	if err := json.Unmarshal([]byte(text), &plans); err != nil || len(plans) != 1 {
		t.Fatalf("reading a plan: %v\n%s", err, text)
	}
	p := plans[0].Plan
	return p.Hit + p.Read + p.TempRead + p.TempWritten
}
