package delivery

import (
	"strings"
	"testing"

	"mbusproxy/integration/internal/forms"
	"mbusproxy/integration/internal/harness"
)

// Statements up to a Sync, or in one Query message, are one transaction without any BEGIN.
func TestImplicitTransaction(t *testing.T) {
	t.Parallel()
	database := harness.NewQueueDatabase(t, "q")
	conn := harness.Connect(t, harness.Proxied(), database)

	t.Run("one query message that fails", func(t *testing.T) {
		harness.Refused(t, conn, "22012", "select mbus4.post('q', 'n=>1'); select 1/0; select mbus4.post('q', 'n=>2')")
		harness.Want(t, conn, "", "select data->'n' from mbus4.consumen('q', 'default', 9)")
	})
	t.Run("one query message that ends well", func(t *testing.T) {
		got := harness.Ask(t, conn, "select mbus4.post('q', 'n=>3', iid => 'i3'); select 'x'; select mbus4.post('q', 'n=>4', iid => 'i4'); select data->'n' from mbus4.consume('q')")
		if got != "i3\nx\ni4\n3" {
			t.Errorf("got %q", got)
		}
		harness.Want(t, conn, "4", "select data->'n' from mbus4.consumen('q', 'default', 9)")
	})
	t.Run("transaction blocks inside one query message", func(t *testing.T) {
		harness.Ask(t, conn, "begin; select mbus4.post('q', 'n=>5'); commit; begin; select mbus4.post('q', 'n=>6'); rollback")
		harness.Want(t, conn, "5", "select data->'n' from mbus4.consumen('q', 'default', 9)")
	})
	t.Run("pipeline that fails", func(t *testing.T) {
		_, err := forms.RunPipelined(harness.Context(t), conn,
			forms.Do("select mbus4.post($1, $2)", "q", "n=>7"),
			forms.Do("select 1/0"),
			forms.Do("select mbus4.post($1, $2)", "q", "n=>8"))
		if harness.SQLState(err) != "22012" {
			t.Errorf("got %s", harness.Describe(err))
		}
		harness.Want(t, conn, "", "select data->'n' from mbus4.consumen('q', 'default', 9)")
	})
	t.Run("pipeline with a whole transaction", func(t *testing.T) {
		got, err := forms.RunPipelined(harness.Context(t), conn,
			forms.Do("begin"),
			forms.Do("select mbus4.post($1, $2, iid => $3)", "q", "n=>9", "i9"),
			forms.Do("select data->'n' from mbus4.consume($1)", "q"),
			forms.Do("select mbus4.post($1, $2, iid => $3)", "q", "n=>10", "i10"),
			forms.Do("commit"),
			forms.Do("select 'after'"))
		if err != nil || got != "i9\n9\ni10\nafter" {
			t.Errorf("got %q, %s", got, harness.Describe(err))
		}
		harness.Want(t, conn, "10", "select data->'n' from mbus4.consumen('q', 'default', 9)")
	})
	t.Run("pipeline of a thousand", func(t *testing.T) {
		steps := make([]forms.Step, 1000)
		for i := range steps {
			steps[i] = forms.Do("select 'i' || mbus4.is_msg_exists($1)::text", "nope")
			if i%2 == 0 {
				steps[i] = forms.Do("select $1::int", i)
			}
		}
		got, err := forms.RunPipelined(harness.Context(t), conn, steps...)
		if err != nil || strings.Count(got, "ifalse") != 500 || strings.Count(got, "\n") != 999 {
			t.Errorf("got %d lines, %s", strings.Count(got, "\n")+1, harness.Describe(err))
		}
	})
}
