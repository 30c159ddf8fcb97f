package format

import "testing"

func TestFormat(t *testing.T) {
	t.Parallel()
	for got, want := range map[string]string{
		Number(1234567): "1\u202f234\u202f567", Number(-12): "−12", Number(999): "999", Rate(0.25): "0.2", Rate(1234.6): "1\u202f235", Bytes(1536): "1.5 KiB", Bytes(12): "12 B",
		Duration(-1): "–", Duration(0.25): "250 ms", Duration(61): "1 min 1 s", Duration(7322): "2 h 2 min", Duration(200000): "2 d 7 h", Plural(1, "row", "rows"): "1 row", Plural(int64(2), "row", "rows"): "2 rows",
	} {
		if got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
}
