package calls_test

import (
	"testing"

	"mbusproxy/engine/calls"
	"mbusproxy/engine/internal/enginetest"
)

// A look leaves out what transactions hold that are under way, also where none has ended that began
// after them: such numbers are behind the end of a snapshot. What was held until a transaction
// ended counts again.
func TestLookLeavesOutWhatIsHeld(t *testing.T) {
	t.Parallel()
	name := enginetest.Installed(t)
	conn := enginetest.Connect(t, name)
	consumer := enginetest.One[int64](t, conn, enginetest.NewConsumer, "q")
	enginetest.Exec(t, conn, `insert into mbus4.message (id, consumer_id, available_at, added)
		select n, $1, now(), now() from generate_series(1, 4) n`, consumer)
	ready := func(want int) {
		t.Helper()
		rows, err := conn.Query(enginetest.Context(t), calls.New().Look(), []string{"q"}, []string{"default"}, []int{9})
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		var got int
		for rows.Next() {
			if err := rows.Scan(nil, nil, &got, nil); err != nil {
				t.Fatal(err)
			}
		}
		if rows.Err() != nil || got != want {
			t.Errorf("%d can be delivered, and not %d: %v", got, want, rows.Err())
		}
	}
	ready(4)
	one, two, three := enginetest.Connect(t, name), enginetest.Connect(t, name), enginetest.Connect(t, name)
	const take = "select id from mbus4.message order by available_at, id limit 1 for update skip locked"
	enginetest.Exec(t, one, "begin")
	enginetest.One[int64](t, one, take)
	ready(3)
	enginetest.Exec(t, two, "begin")
	enginetest.One[int64](t, two, take)
	ready(2)
	enginetest.Exec(t, three, "begin")
	enginetest.One[int64](t, three, take)
	ready(1)
	enginetest.Exec(t, two, "rollback")
	ready(2)
	enginetest.Exec(t, one, "rollback")
	enginetest.Exec(t, three, "rollback")
	ready(4)
}
