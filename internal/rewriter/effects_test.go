package rewriter

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"mbusproxy/rewrite/effects"
	"mbusproxy/rewrite/plan"
)

// namesOf are the names of prepared statements and portals of a session, sorted.
type namesOf struct{ statements, portals []string }

// serverNames asks the server.
func serverNames(t *testing.T, conn *pgconn.PgConn) (n namesOf) {
	t.Helper()
	for view, names := range map[string]*[]string{"pg_prepared_statements": &n.statements, "pg_cursors": &n.portals} {
		results, err := conn.Exec(t.Context(), "select name from "+view).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range results[0].Rows {
			*names = append(*names, string(row[0]))
		}
		slices.Sort(*names)
	}
	return n
}

// runText runs a text with the simple protocol and returns the names that its effects leave of those before, as far as
// the server's tags say that they came about.
func runText(t *testing.T, conn *pgconn.PgConn, text string, session plan.Session, before namesOf) (after namesOf, failed error) {
	t.Helper()
	found, more := effects.Of(text, session.Encoding, session.EscapeStrings)
	if more {
		t.Fatalf("%q has too many effects", text)
	}
	results := conn.Exec(t.Context(), text)
	after = namesOf{slices.Clone(before.statements), slices.Clone(before.portals)}
	for results.NextResult() {
		tag, err := results.ResultReader().Close()
		switch {
		case err != nil: // Close of results returns it, too
		case tag.String() == "DEALLOCATE ALL" || tag.String() == "DISCARD ALL":
			after.statements = nil
		case len(found) > 0 && tag.String() == found[0].Tag:
			names := &after.statements
			if found[0].Portal {
				names = &after.portals
			}
			*names = slices.DeleteFunc(*names, func(n string) bool { return n == found[0].Name })
			if tag.String() != "DEALLOCATE" {
				*names = append(*names, found[0].Name)
			}
			found = found[1:]
		}
	}
	failed = results.Close()
	if failed == nil && len(found) > 0 {
		t.Errorf("%q: no tag for %+v", text, found)
	}
	slices.Sort(after.statements)
	slices.Sort(after.portals)
	return after, failed
}

// TestEffectsAreTheServers holds what rewrite says of the effects of texts against what a server makes of them.
func TestEffectsAreTheServers(t *testing.T) {
	t.Parallel()
	cluster, _ := engineOnCluster(t)
	ascii := plan.Session{Encoding: "UTF8"}
	for _, c := range []struct {
		setting string
		session plan.Session
		texts   []string
	}{
		{"select 1", ascii, []string{
			"PREPARE Foo as select 1; prepare \"Foo\" as select 1;prepare a(int) as select ';prepare x';;; /* /* */ ; */ deallocate -- x\nfoo",
			"prepare prepare as select 1; deallocate prepare a; deallocate prepare; prepare transaction as select 1; prepare b as select 1; deallocate transaction",
			"begin; prepare transaction 'x'",
			"deallocate prepare all; prepare \"all\" as select 1; deallocate prepare \"all\"; prepare c as select 1; deallocate all",
			`prepare U&"d\0061t\+000061" as select 1; prepare U&"d!0061t""a'\" uescape '!' as select 1; prepare U&"\D83D\DE00" as select 1`,
			`deallocate data; deallocate u&"\0064ata"`, `deallocate U&"\D83D"`, "deallocate none; deallocate \"Foo\"",
			`select U&'\; prepare y as select 1'; select 'deallocate x'; select $a$; prepare x $b$ $a$; discard all; prepare d as select 1`,
			"prepare " + strings.Repeat("n", 70) + " as select 1; prepare \"" + strings.Repeat("\u00e4", 40) + "\" as select 1",
			"deallocate " + strings.Repeat("n", 63) + "; deallocate \"" + strings.Repeat("\u00e4", 31) + "\"",
			`prepare U&"` + strings.Repeat(`\00e4`, 40) + `" as select 1; deallocate ` + strings.Repeat("\u00e4", 35),
			"prepare \u00c4A as select 1; prepare e as select '\\'; prepare f as select ''; select ''",
			"declare c cursor with hold for select 1; declare \"C\" insensitive no scroll cursor with hold for select 1",
			"declare U&\"\\0064\" binary cursor with hold for select ';' \n'; declare x cursor for select 1'; select 1; -- declare y\rdeclare z$1 cursor with hold for select 1",
		}},
		{"set standard_conforming_strings = off", plan.Session{Encoding: "UTF8", EscapeStrings: true}, []string{
			`select '\'; prepare x as select '; prepare y as select 1`, `prepare u&"\0061" as select e'\''; prepare b as select '\''`,
		}},
		{"set client_encoding = sjis", plan.Session{Encoding: "SJIS"}, []string{
			"prepare a\x83\x41B as select '\x83\x5c'; prepare \"\x83\x41\x83\x5c\" as select 1; deallocate a\x83\x41b; prepare U&\"\\0061\" as select 1",
		}},
		{"set client_encoding = latin1", plan.Session{Encoding: "LATIN1"}, []string{"prepare \xc4A as select 1; prepare b as select '\xc4'; deallocate b"}},
	} {
		conn, err := pgconn.Connect(t.Context(), cluster.DSN("postgres"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Exec(t.Context(), c.setting).ReadAll(); err != nil {
			t.Fatal(err)
		}
		for _, text := range c.texts {
			want, _ := runText(t, conn, text, c.session, serverNames(t, conn))
			_, _ = conn.Exec(t.Context(), "rollback").ReadAll()
			if got := serverNames(t, conn); fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
				t.Errorf("%s: %q\nthe server has %q\nwanted         %q", c.setting, text, got, want)
			}
		}
		_ = conn.Close(t.Context())
	}
}

// TestEffectsOfRandomTexts does the same with random texts, most of which a server refuses at some point.
func TestEffectsOfRandomTexts(t *testing.T) {
	t.Parallel()
	cluster, _ := engineOnCluster(t)
	conn, err := pgconn.Connect(t.Context(), cluster.DSN("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	names := []string{"a", "B", `"C"`, `"d""e"`, "prepare", "transaction", `U&"\0061"`, "all", "\u00e4", "declare", `"all"`}
	between := []string{" ", "\n", "/* ; prepare x */", " -- deallocate a\n", "\t"}
	others := []string{"select ';prepare a as '", "select $$;deallocate a$$", "", `select e'\';'`, "select 1 as prepare", "values ($a$ ' $a$)", "deallocate all", `select '\'`, "select 1/0"}
	seed := rand.Uint64()
	rnd := rand.New(rand.NewPCG(seed, 0))
	pick := func(of []string) string { return of[rnd.IntN(len(of))] }
	refused := 0
	const texts = 1500
	for range texts {
		var text string
		for range 1 + rnd.IntN(4) {
			gap := pick(between)
			text += gap + pick([]string{
				"prepare" + gap + pick(names) + pick(between) + "as" + gap + "select 1",
				"deallocate" + gap + pick(names),
				"deallocate" + gap + "prepare" + pick(between) + pick(names),
				pick(others),
			}) + pick(between) + ";"
		}
		before := serverNames(t, conn)
		want, failed := runText(t, conn, text, plan.Session{Encoding: "UTF8"}, before)
		if failed != nil {
			refused++
		}
		if got := serverNames(t, conn); fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
			t.Fatalf("seed %d: %q (%v)\nbefore         %q\nthe server has %q\nwanted         %q", seed, text, failed, before, got, want)
		}
	}
	if refused < texts/10 || refused > texts*9/10 {
		t.Errorf("%d of %d texts were refused", refused, texts)
	}
}
