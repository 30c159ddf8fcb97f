package rewrite

import (
	"testing"

	"mbusproxy/rewrite/plan"
)

// A text that uses a table of the schema, or a function that is not served, which must exist then,
// is forwarded as it is, the first time and later.
func TestTablesOfTheSchema(t *testing.T) {
	for sql, want := range map[string]bool{
		`insert into mbus4.work_queue(payload) values ('{}')`:             true,
		`select 1; with q as (select * from "mbus4".queue) table q`:       true,
		`delete from mbus4.semaphore`:                                     true,
		`copy (select * from mbus4.queue) to stdout`:                      true,
		`copy mbus4.queue from stdin`:                                     false,
		`create table mbus4.mine (a int)`:                                 false,
		`select mbus4.nosuch(1)`:                                          true,
		`call "mbus4".nosuch()`:                                           true,
		`select other.nosuch(1), mbus4.id from mbus4`:                     false,
		`select 'mbus4.queue'`:                                            false,
		`select mbus4.id from mbus4`:                                      false,
		`insert into mbus4.work_queue(payload) values ('{}') returnin id`: false,
	} {
		r := newRewriter(shortFragments{})
		asked := 0
		for range 2 {
			p := r.Rewrite(t.Context(), sql, utf8Session, func() (plan.Env, *plan.Refusal) {
				asked++
				return plan.Env{}, &plan.Refusal{Code: "XX000"} // of no consequence
			})
			if p != nil {
				t.Errorf("%s gives %s", sql, p.SQL())
			}
		}
		if got := asked == 2; got != want {
			t.Errorf("%s: asked %d times", sql, asked)
		}
	}
}
