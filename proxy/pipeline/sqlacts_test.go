package pipeline

import (
	"strings"
	"testing"
)

func TestActsOf(t *testing.T) {
	for text, want := range map[string]string{
		"select 1":                "",
		"prepare":                 "PREPARE",
		"PREPARE Foo as select 1": "PREPARE foo",
		"begin;prepare a(int) as select ';prepare x';;; /* /* */ ; */ deallocate -- x\n\"B\"\"c\"; deallocate prepare d": `PREPARE a|DEALLOCATE B"c|DEALLOCATE d`,
		"deallocate all; deallocate prepare all; deallocate prepare; prepare transaction 'x'; prepare b as select 1":     "DEALLOCATE prepare|PREPARE b",
		"select $a$; prepare x $b$ $a$; declare c$1 cursor for select 1":                                                 "DECLARE CURSOR c$1",
		`select E'\'; prepare x as', 'a\'; prepare y as select $1; select ''`:                                            "PREPARE y",
		"select e'\\\\' \n '\\'; prepare x as '; prepare y as select 1":                                                  "PREPARE y",
		`select U&'\'; prepare y`:       "PREPARE y",
		`prepare U&"x" as select 1`:     "PREPARE",
		"explain prepare x as select 1": "",
		"select 1.5prepare; select 'deallocate x'; select \"; prepare z\"; prepare": "PREPARE",
		"select '; prepare x":                              "",
		"select 1; -- prepare y\rdeclare x":                "DECLARE CURSOR x",
		"prepare " + strings.Repeat("n", 70) + " as table": "PREPARE " + strings.Repeat("n", 63),
	} {
		var got []string
		for _, a := range actsOf([]byte(text), false) {
			got = append(got, strings.TrimSpace(a.tag+" "+a.name))
		}
		if strings.Join(got, "|") != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
	if got := actsOf([]byte(`select '\'; prepare x'`), true); got != nil {
		t.Errorf("got %v", got)
	}
}

func FuzzActsOf(f *testing.F) {
	f.Add("prepare a; deallocate \"b\"\"\"; declare c; e'\\' u&\"x\" $a$ /* -- */", true)
	f.Fuzz(func(t *testing.T, text string, escapes bool) {
		for _, a := range actsOf([]byte(text), escapes) {
			if a.tag == "" || len(a.name) > maxName {
				t.Fatalf("%q: %+v", text, a)
			}
		}
	})
}
