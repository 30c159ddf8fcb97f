package rewrite

import (
	"slices"
	"testing"

	"mbusproxy/rewrite/plan"
)

// What is known of the address of a call by a text with the same skeleton is what reading the text gives.
func TestAddressesOfSkeleton(t *testing.T) {
	t.Parallel()
	for _, texts := range [][]string{
		{"select mbus4.post('q', 'a=>1')", "select mbus4.post('other', 'b=>2')", "select mbus4.post('', '')", "select mbus4.post('It''s', 'x=>y')"},
		{"select mbus4.post(data => 'a=>1', qname => 'q')", "select mbus4.post(data => 'q', qname => 'z')"},
		{"select mbus4.post_q('a=>1')", "select mbus4.post_q('b=>2')"},
		{"select * from mbus4.consume('q', 'c')", "select * from mbus4.consume('q', '')", "select * from mbus4.consume('', 'd')", "select * from mbus4.consume('r', 'e')"},
		{"select * from mbus4.consume('q', '')", "select * from mbus4.consume('q', 'c')"},
		{"select * from mbus4.consume('q')", "select * from mbus4.consume('p')"},
		{"select * from mbus4.consume(E'q', 'c')", "select * from mbus4.consume(E'q', 'd')"},
		{"select * from mbus4.consume_q_by_c()", "select * from mbus4.consume_q_by_c()"},
		{"select mbus4.post('q',\n 'a'\n'b')", "select mbus4.post('r',\n 'a'\n'b')"},
		{"select mbus4.post($1, 'a=>1')", "select mbus4.post($1, 'b=>1')"},
		{"select mbus4.post('q', $2)", "select mbus4.post('r', $2)"},
		{"select mbus4.post('q', hstore('n', $1))", "select mbus4.post('r', hstore('n', $1))", "select mbus4.post('', hstore('n', $1))"},
		{"select 'x', mbus4.post('q', 'a=>1'), mbus4.post('r', 'b=>2')", "select 'longer', mbus4.post('s', 'a=>1'), mbus4.post('q', 'b=>2')"},
		{"insert into t select mbus4.post($1, 'a'), mbus4.post('r', $2)", "insert into t select mbus4.post($1, 'b'), mbus4.post('s', $2)"},
	} {
		for _, session := range []plan.Session{{Encoding: "UTF8"}, {Encoding: "UTF8", EscapeStrings: true}, {Encoding: "UTF8", Prepared: true}} {
			r := newRewriter(shortFragments{})
			for _, text := range append(slices.Clone(texts), texts[0]) {
				p := r.Rewrite(t.Context(), text, session, testEnv)
				fresh := p.Unprepared() // of which nothing is known
				got, _ := p.Addresses()
				want, _ := fresh.Addresses()
				if !slices.Equal(got, want) || len(want) == 0 {
					t.Errorf("%s: got %+v, want %+v", text, got, want)
				}
				numbers, certain := p.QueueParameters()
				readNumbers, readCertain := fresh.QueueParameters()
				if !slices.Equal(numbers, readNumbers) || certain != readCertain {
					t.Errorf("%s: queues are given by %v, %t, want %v, %t", text, numbers, certain, readNumbers, readCertain)
				}
				if got, want := p.Parameters(), fresh.Parameters(); got != want {
					t.Errorf("%s: %d parameters, want %d", text, got, want)
				}
			}
		}
	}
}

// A parameter gives the name of a queue where the text uses it once, and as a text.
func TestQueueParameters(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text    string
		want    []int
		certain bool
	}{
		{"select mbus4.post('q', $1)", nil, true},
		{"select mbus4.post($1, $2)", []int{1}, true},
		{"select mbus4.post(data => $1, qname => $2)", []int{2}, true},
		{"select mbus4.post($1, hstore('n', $2))", []int{1}, true},
		{"select mbus4.post($2, hstore('n', $1)), mbus4.post($3, '')", []int{2, 3}, true},
		{"select mbus4.post($1, hstore('n', $1))", []int{1}, false},
		{"select mbus4.post($1, ''), mbus4.post($1, '')", []int{1, 1}, false},
		{"select $1::int, mbus4.post($1, '')", []int{1}, false},
		{"select mbus4.post($1::text, '')", []int{1}, false},
		{"select mbus4.post($1::int::text, '')", []int{1}, false},
		{"select mbus4.post(lower($1), '')", nil, true},
	} {
		p := newRewriter(shortFragments{}).Rewrite(t.Context(), c.text, plan.Session{Encoding: "UTF8", Prepared: true}, testEnv)
		if got, certain := p.QueueParameters(); !slices.Equal(got, c.want) || certain != c.certain {
			t.Errorf("%s: got %v, %t, want %v, %t", c.text, got, certain, c.want, c.certain)
		}
	}
}
