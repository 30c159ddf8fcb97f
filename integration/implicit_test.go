package integration

import (
	"strings"
	"testing"
)

// Statements up to a Sync, or in one Query message, are one transaction without any BEGIN.
func TestImplicitTransaction(t *testing.T) {
	t.Parallel()
	database := newQueueDatabase(t, "q")
	conn := connect(t, proxied(), database)

	t.Run("one query message that fails", func(t *testing.T) {
		refused(t, conn, "22012", "select mbus4.post('q', 'n=>1'); select 1/0; select mbus4.post('q', 'n=>2')")
		want(t, conn, "", "select data->'n' from mbus4.consumen('q', 'default', 9)")
	})
	t.Run("one query message that ends well", func(t *testing.T) {
		got := ask(t, conn, "select mbus4.post('q', 'n=>3', iid => 'i3'); select 'x'; select mbus4.post('q', 'n=>4', iid => 'i4'); select data->'n' from mbus4.consume('q')")
		if got != "i3\nx\ni4\n3" {
			t.Errorf("got %q", got)
		}
		want(t, conn, "4", "select data->'n' from mbus4.consumen('q', 'default', 9)")
	})
	t.Run("transaction blocks inside one query message", func(t *testing.T) {
		ask(t, conn, "begin; select mbus4.post('q', 'n=>5'); commit; begin; select mbus4.post('q', 'n=>6'); rollback")
		want(t, conn, "5", "select data->'n' from mbus4.consumen('q', 'default', 9)")
	})
	t.Run("pipeline that fails", func(t *testing.T) {
		_, err := runPipelined(testContext(t), conn,
			do("select mbus4.post($1, $2)", "q", "n=>7"),
			do("select 1/0"),
			do("select mbus4.post($1, $2)", "q", "n=>8"))
		if sqlState(err) != "22012" {
			t.Errorf("got %s", describe(err))
		}
		want(t, conn, "", "select data->'n' from mbus4.consumen('q', 'default', 9)")
	})
	t.Run("pipeline with a whole transaction", func(t *testing.T) {
		got, err := runPipelined(testContext(t), conn,
			do("begin"),
			do("select mbus4.post($1, $2, iid => $3)", "q", "n=>9", "i9"),
			do("select data->'n' from mbus4.consume($1)", "q"),
			do("select mbus4.post($1, $2, iid => $3)", "q", "n=>10", "i10"),
			do("commit"),
			do("select 'after'"))
		if err != nil || got != "i9\n9\ni10\nafter" {
			t.Errorf("got %q, %s", got, describe(err))
		}
		want(t, conn, "10", "select data->'n' from mbus4.consumen('q', 'default', 9)")
	})
	t.Run("pipeline of a thousand", func(t *testing.T) {
		steps := make([]step, 1000)
		for i := range steps {
			steps[i] = do("select 'i' || mbus4.is_msg_exists($1)::text", "nope")
			if i%2 == 0 {
				steps[i] = do("select $1::int", i)
			}
		}
		got, err := runPipelined(testContext(t), conn, steps...)
		if err != nil || strings.Count(got, "ifalse") != 500 || strings.Count(got, "\n") != 999 {
			t.Errorf("got %d lines, %s", strings.Count(got, "\n")+1, describe(err))
		}
	})
}
