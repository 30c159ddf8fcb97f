package lex

import (
	"strings"
	"testing"
)

func TestSkeleton(t *testing.T) {
	for text, want := range map[string]string{
		`select 'a', 'b''c', ''`:                         `select '~', '~', '~'`,
		`select E'a\'b', 'c'`:                            `select E'a\'b', '~'`,
		`select 'a\', 'b'`:                               `select '~', '~'`,
		`select U&'a', u&"b'", 'c'`:                      `select U&'a', u&"b'", '~'`,
		`select n'a', x'0f', b'1', "it's", 1`:            `select n'a', x'0f', b'1', "it's", #`,
		`select 1, 1.5, 1e5, a1, 12345678901, t(3), -7`:  `select #, #.#, 1e5, a1, $, t(#), -#`,
		`select 2147483647, 2147483648, 0000000000007`:   `select #, $, #`,
		`select 999999999999999999, 1234567890123456789`: `select $, 1234567890123456789`,
		`select $$a'b$$, $x$'$x$, $1, 'c'`:               `select $$a'b$$, $x$'$x$, $1, '~'`,
		`select a$b$c, 'd'`:                              `select a$b$c, '~'`,
		"-- it's\nselect 'a' -- 'b'":                     "-- it's\nselect '~' -- 'b'",
		`/* ' /* ' */ ' */ select 'a'`:                   `/* ' /* ' */ ' */ select '~'`,
		`select type'a'`:                                 `select type'~'`,
		`select 'open`:                                   `select 'open`,
		`select /* open`:                                 `select /* open`,
		`select $$open`:                                  `select $$open`,
		`select 'a' 'b'`:                                 `select '~' '~'`,
	} {
		got, _ := Skeleton(text, UTF8, false)
		if got = strings.NewReplacer(stringMark, "~", numberMark, "#", bigMark, "$").Replace(got); got != want {
			t.Errorf("%s gives %s, want %s", text, got, want)
		}
	}
}

// What a long text leaves without its literals, and how many these are, is bounded.
func TestSkeletonIsBounded(t *testing.T) {
	t.Parallel()
	for text, own := range map[string]bool{
		"select '" + strings.Repeat("x", 1<<20) + "'":                 false,
		"select " + strings.Repeat("12345,", MaxSkeleton/2-10) + "1":  false,
		"select " + strings.Repeat("12345,", MaxSkeleton/2) + "1":     true,
		"select " + strings.Repeat("'long',", MaxSkeleton/2) + "'y'":  true,
		"select " + strings.Repeat(`"name", `, MaxSkeleton/8+1) + "1": true,
	} {
		skeleton, literals := Skeleton(text, UTF8, false)
		if (skeleton == text) != own || len(literals) > MaxSkeleton {
			t.Errorf("%.30s: %d bytes with %d literals", text, len(skeleton), len(literals))
		}
	}
}
