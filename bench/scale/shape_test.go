package main

import (
	"path/filepath"
	"testing"

	"mbusproxy/bench/internal/rig"
)

// shape is what the rows of a consumer look like, whatever their times and numbers are.
const shape = `select string_agg(distinct concat_ws(' ', iid is null, available_at = added, available_at = delayed_until, available_at = 'infinity', added <= now(),
		expires is null, received is null, headers, properties is null, after, m.iid ~ ('^own[.]' || current_database() || '[.]' || m.id || '$'),
		(select string_agg(w.dep, ',') from mbus4.waiting w where w.consumer_id = m.consumer_id and w.id = m.id)), '; ')
	from mbus4.message m where consumer_id = `

// What is put into the tables directly looks as calls would have put it there.
func TestShapes(t *testing.T) {
	t.Parallel()
	tools, err := rig.FindTools()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if tools.Proxy, err = rig.BuildProxy(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	stack, err := startStack(t.Context(), tools, filepath.Join(dir, "stack"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := stack.Stop(); err != nil {
			t.Error(err)
		}
	}()
	s, err := openSite(t.Context(), stack, "shapes")
	if err != nil {
		t.Fatal(err)
	}
	defer s.drop(t.Context())
	consumer := consumerOf(own, "default")
	for name, c := range map[string]struct{ call, direct string }{
		"plain":        {"select mbus4.post('own', 'n=>1')", messages(consumer, 1, one)},
		"delayed":      {"select mbus4.post('own', 'n=>1', delayed_until => localtimestamp + interval '1 hour')", delayed(consumer, 1)},
		"iid":          {"select mbus4.post('own', 'n=>1', iid => 'x1')", named(consumer, 1, "'x' || g")},
		"waiting":      {"select mbus4.post('own', 'n=>1', 'consume_after=>{gate}')", parked(own, 1, "null::text", "'gate'")},
		"waiting, iid": {"select mbus4.post('own', 'n=>1', 'consume_after=>{gate}', iid => 'x1')", parked(own, 1, "'x' || g", "'gate'")},
	} {
		look := func() string {
			text, err := rig.Query(t.Context(), s.direct, shape+consumer)
			if err == nil {
				err = s.sql(t.Context(), "delete from mbus4.message where consumer_id = "+consumer, "delete from mbus4.waiting")
			}
			if err != nil {
				t.Fatal(err)
			}
			return text
		}
		if err := s.call(t.Context(), c.call); err != nil {
			t.Fatal(err)
		}
		posted := look()
		if err := s.sql(t.Context(), c.direct); err != nil {
			t.Fatal(err)
		}
		if got := look(); got != posted || got == "" {
			t.Errorf("%s: %s\nposted: %s", name, got, posted)
		}
	}
}
