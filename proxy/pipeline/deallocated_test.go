package pipeline

import (
	"runtime"
	"slices"
	"strings"
	"testing"
)

func TestDeallocatedNames(t *testing.T) {
	for text, want := range map[string][]string{
		"select 1":       nil,
		"DEALLOCATE Foo": {"foo"},
		"deallocate prepare foo; deallocate\n bar": {"foo", "bar"},
		`Deallocate "Foo ""x"""; select 1`:         {`Foo "x"`},
		"deallocate all":                           {"all"},
		"deallocate":                               nil,
		"deallocate a/**/":                         {"a"},
		"\xffdeallocate \xc3\x84":                  {"\xc3\x84"},
		"deallocate " + strings.Repeat("n", 100):   {strings.Repeat("n", maxName)},
		`deallocate "` + strings.Repeat(`""`, 500): {strings.Repeat(`"`, maxName)},
	} {
		if got := deallocatedNames([]byte(text)); !slices.Equal(got.names, want) || got.all {
			t.Errorf("%.40q: got %+v", text, got)
		}
	}
	for _, text := range []string{
		"deallocate /**/ a", "deallocate" + strings.Repeat(" ", 2*maxBlank) + "a", strings.Repeat("deallocate a;", maxDrops+1),
	} {
		if got := deallocatedNames([]byte(text)); !got.all || len(got.names) > 0 {
			t.Errorf("%.40q: got %+v", text, got)
		}
	}
}

// TestScansAreLinear: what is looked for in a text keeps nothing of it, and copies it a few times at most.
func TestScansAreLinear(t *testing.T) {
	const size = 1 << 20
	for _, part := range []string{
		"deallocate", "deallocate ", "deallocate\n\n\n\n\n\n", `deallocate "`, `deallocate ""`, "deallocate prepare ", "deallocate a;",
		"prepare", "prepare ", "prepare a;", `prepare "`, "declare ", "prepare $", "prepare $a$", "prepare '", "prepare ''\n", "prepare e'\\", "/*prepare ", "prepare U&\"",
	} {
		text := []byte(strings.Repeat(part, size/len(part)))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		d, acts := deallocatedNames(text), actsOf(text, true)
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; used > 8*size {
			t.Errorf("%q: %d bytes for a text of %d", part, used, size)
		}
		kept := 0
		for _, name := range d.names {
			kept += len(name)
		}
		for _, a := range acts {
			kept += len(a.name)
		}
		if kept > (maxDrops+maxActs+1)*maxName || len(acts) > maxActs+1 {
			t.Errorf("%q: %d names and %d acts, of %d bytes", part, len(d.names), len(acts), kept)
		}
	}
}
