package selector

import "testing"

func TestSimple(t *testing.T) {
	t.Parallel()
	s, err := Compile("(t.properties->'STATE')='DONE' and data->'a\\b' = 'c''d'", Env{HstoreSchema: "public", Major: 15})
	if err != nil {
		t.Fatal(err)
	}
	const want = `case when ((t.properties operator(public.->) 'STATE'::pg_catalog.text) operator(pg_catalog.=) 'DONE'::pg_catalog.text) and ` +
		`((t.data operator(public.->) E'a\\b'::pg_catalog.text) operator(pg_catalog.=) 'c''d'::pg_catalog.text) then 1 else 0 end`
	if s.Condition != want || len(s.Simple) != 2 {
		t.Errorf("got %s", s.Condition)
	}
}
