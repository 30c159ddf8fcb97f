package effects

import (
	"runtime"
	"strings"
	"testing"
)

// effectLines shows the effects of a text.
func effectLines(text, encoding string, escapes bool) string {
	effects, more := Of(text, encoding, escapes)
	var got []string
	for _, e := range effects {
		got = append(got, strings.TrimSpace(e.Tag+" "+e.Name))
	}
	if more {
		got = append(got, "more")
	}
	return strings.Join(got, "|")
}

func TestEffects(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                        "",
		"select 1":                "",
		"prepare":                 "",
		"PREPARE Foo as select 1": "PREPARE foo",
		"begin;prepare a(int) as select ';prepare x';;; /* /* */ ; */ deallocate -- x\n\"B\"\"c\"; deallocate prepare d": `PREPARE a|DEALLOCATE B"c|DEALLOCATE d`,
		"deallocate all; deallocate prepare all; deallocate prepare; prepare transaction 'x'; prepare b as select 1":     "DEALLOCATE prepare|PREPARE b",
		"prepare transaction e'x'; prepare transaction as select 1; prepare transaction(int) as select 1":                "PREPARE transaction|PREPARE transaction",
		"deallocate\tprepare\n\"all\"; deallocate \"ALL\"; deallocate allx":                                              "DEALLOCATE all|DEALLOCATE ALL|DEALLOCATE allx",
		"deallocate prepare;deallocate prepare":                                                                          "DEALLOCATE prepare|DEALLOCATE prepare",
		"select $a$; prepare x $b$ $a$; declare c$1 cursor for select 1":                                                 "DECLARE CURSOR c$1",
		`select E'\'; prepare x as', 'a\'; prepare y as select $1; select ''`:                                            "PREPARE y",
		"select e'\\\\' \n '\\'; prepare x as '; prepare y as select 1":                                                  "PREPARE y",
		`select U&'\'; prepare y as select 1`:                                                                            "PREPARE y",
		"explain prepare x as select 1":                                                                                  "",
		"select 1.5prepare; select 'deallocate x'; select \"; prepare z\"; prepare":                                      "",
		"select '; prepare x": "",
		"select 1; -- prepare y\rdeclare x cursor for select 1":        "DECLARE CURSOR x",
		"declare \"C\" insensitive binary no scroll cursor for select": "DECLARE CURSOR C",
		"DEALLOCATE Foo": "DEALLOCATE foo",
		"deallocate prepare foo; deallocate\n bar":     "DEALLOCATE foo|DEALLOCATE bar",
		`Deallocate "Foo ""x"""; select 1`:             `DEALLOCATE Foo "x"`,
		"deallocate all":                               "",
		"deallocate":                                   "",
		"deallocate a/**/":                             "DEALLOCATE a",
		"deallocate /**/ a":                            "DEALLOCATE a",
		"deallocate" + strings.Repeat(" ", 4000) + "a": "DEALLOCATE a",
		"deallocate \xc3\x84":                          "DEALLOCATE \xc3\x84",
		// What the server keeps of a name.
		"prepare " + strings.Repeat("n", 70) + " as table":                   "PREPARE " + strings.Repeat("n", 63),
		"deallocate " + strings.Repeat("n", 63):                              "DEALLOCATE " + strings.Repeat("n", 63),
		`deallocate "` + strings.Repeat(`""`, 500) + `"`:                     "DEALLOCATE " + strings.Repeat(`"`, 63),
		`deallocate "` + strings.Repeat("\u00e4", 40) + `"`:                  "DEALLOCATE " + strings.Repeat("\u00e4", 31),
		`deallocate U&"` + strings.Repeat(`\00e4`, 40) + `"`:                 "DEALLOCATE " + strings.Repeat("\u00e4", 31),
		`prepare U&"d\0061t\+000061" as select 1; deallocate prepare u&"\\"`: `PREPARE data|DEALLOCATE \`,
		`deallocate U&"d!0061t""a'\" uescape '!'; deallocate b`:              `DEALLOCATE dat"a'\|DEALLOCATE b`,
		`declare U&"\D83D\DE00" cursor for select 1`:                         "DECLARE CURSOR \U0001F600",
		// What the server refuses; nothing is said of the name.
		`deallocate U&"\00"`:                     "DEALLOCATE",
		`deallocate U&"\D83D"; deallocate b`:     "DEALLOCATE|DEALLOCATE b",
		`deallocate U&"\D83D'"; deallocate b`:    "DEALLOCATE|DEALLOCATE b",
		`deallocate U&"\0061" uescape; select 1`: "DEALLOCATE",
	} {
		if got := effectLines(text, "", false); got != want {
			t.Errorf("%.80q: got %q, want %q", text, got, want)
		}
		if want != "" && !MayHave([]byte(text)) {
			t.Errorf("%.80q: the cheap test finds nothing", text)
		}
	}
	if effects, _ := Of("prepare a as select; declare b cursor for select; deallocate c", "", false); len(effects) != 3 ||
		effects[0].Portal || !effects[1].Portal || effects[2].Portal {
		t.Errorf("got %+v", effects)
	}
}

// TestEffectsInSettings: the text is read with the session's settings.
func TestEffectsInSettings(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		encoding   string
		escapes    bool
		text, want string
	}{
		{"", true, `select '\'; prepare x'; deallocate y`, "DEALLOCATE y"},
		{"", false, `select '\'; prepare x as select ''; deallocate y`, "PREPARE x|DEALLOCATE y"},
		// The second byte of a character is no backslash, no quote and no capital.
		{"SJIS", true, "select '\x83\x5c'; deallocate a\x83\x41B", "DEALLOCATE a\x83\x41b"},
		{"LATIN1", false, "deallocate \xc4a", "DEALLOCATE \xc4a"},
		{"LATIN1", false, `deallocate U&"\00e4"`, "DEALLOCATE"},
		{"SJIS", false, `deallocate "` + strings.Repeat("\x83\x41", 40) + `"`, "DEALLOCATE " + strings.Repeat("\x83\x41", 31)},
	} {
		if got := effectLines(c.text, c.encoding, c.escapes); got != c.want {
			t.Errorf("%q %t %.80q: got %q, want %q", c.encoding, c.escapes, c.text, got, c.want)
		}
	}
}

func TestEffectsAreBounded(t *testing.T) {
	t.Parallel()
	for n := Max - 1; n <= Max+1; n++ {
		effects, more := Of(strings.Repeat("deallocate a;", n), "", false)
		if len(effects) != min(n, Max) || more != (n > Max) {
			t.Errorf("%d: got %d and %t", n, len(effects), more)
		}
	}
}

// TestMayHaveEffectsInParts: what lies across two parts of a text is found.
func TestMayHaveEffectsInParts(t *testing.T) {
	t.Parallel()
	for _, word := range []string{"Prepare", "dealLocate", "DECLARE"} {
		text := []byte("x" + word + "x")
		for cut := range len(text) {
			from := max(0, cut-WordSize+1)
			if !MayHave(text[:cut]) && !MayHave(text[from:]) {
				t.Errorf("%q cut at %d", text, cut)
			}
		}
	}
	for _, text := range []string{"", "select 1", "p", "prepar", "deallocat e", "declar", "d\x10eallocate"} {
		if MayHave([]byte(text)) {
			t.Errorf("%q: found", text)
		}
	}
}

// TestEffectsAreLinear: what is looked for in a text keeps nothing of it, and copies it a few times at most.
func TestEffectsAreLinear(t *testing.T) {
	const size = 1 << 20
	for _, part := range []string{
		"deallocate", "deallocate ", "deallocate\n\n\n\n\n\n", `deallocate "`, `deallocate ""`, "deallocate prepare ", "deallocate a;",
		"prepare", "prepare ", "prepare a;", `prepare "`, "declare ", "prepare $", "prepare $a$", "prepare '", "prepare ''\n", "prepare e'\\",
		"/*prepare ", "prepare U&\"", `prepare U&""""`, `prepare U&"\0061\D83D" uescape`, "prepare \xff",
	} {
		text := strings.Repeat(part, size/len(part))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		effects, more := Of(text, "", true)
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; used > 8*size {
			t.Errorf("%q: %d bytes for a text of %d", part, used, size)
		}
		kept := 0
		for _, e := range effects {
			kept += len(e.Name)
		}
		if kept > Max*maxName || len(effects) > Max {
			t.Errorf("%q: %d effects with names of %d bytes, %t", part, len(effects), kept, more)
		}
	}
}

// FuzzEffects: what is found has a tag and a name that the server can have, and the cheap test finds it too.
func FuzzEffects(f *testing.F) {
	f.Add("prepare a; deallocate \"b\"\"\"; declare c; e'\\' u&\"x\" $a$ /* -- */", true, "UTF8")
	f.Add("prepare U&\"\\0061\" uescape '!'; deallocate \x83\x5c", false, "SJIS")
	f.Fuzz(func(t *testing.T, text string, escapes bool, encoding string) {
		effects, more := Of(text, encoding, escapes)
		if more != (len(effects) > Max) && !more || len(effects) > 0 && !MayHave([]byte(text)) {
			t.Fatalf("%q: %d effects, %t", text, len(effects), more)
		}
		for _, e := range effects {
			if e.Tag == "" || len(e.Name) > maxName || e.Portal != (e.Tag == tagDeclare) {
				t.Fatalf("%q: %+v", text, e)
			}
		}
	})
}

func TestMayDeallocate(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"select 1": false, "": false, "prepare d as select 1": false, "deallocat": false, "discard all": false,
		"deallocate a": false, " DEALLOCATE \"B c\" ;\n": false, "deallocate prepare pdo_stmt_1;": false,
		"deallocate all": true, "DEALLOCATE PREPARE All": true, "select 1; deallocate a": true, "deallocate a; select 1": true,
		"do $$ begin execute 'Deallocate ' || x; end $$": true, "select 'dd deallocate'": true, "/* x */ deallocate a": true,
	} {
		if got := MayDeallocate([]byte(text)); got != want {
			t.Errorf("%q: %t", text, got)
		}
	}
}

func TestMaySetTimeouts(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"select 1": false, "": false, "update t set c = 1": false, "commit": false, "timeou": false,
		"SET statement_timeout = 1": true, "set local Statement_Timeout to 1": true, "select set_config($1, $2, false)": true,
		"ROLLBACK": true, "reset all": true, "discard all": true, "set role r": true,
	} {
		if got := MaySetTimeouts([]byte(text)); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}
