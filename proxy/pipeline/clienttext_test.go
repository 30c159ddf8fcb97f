package pipeline

import "testing"

func TestVoidParams(t *testing.T) {
	types := []byte{0, 3, 0, 0, 8, 230, 0, 0, 0, 25, 0, 0, 8, 230} // void, text, void
	if got := voidParams(types); len(got) != 2 || got[0] != 1 || got[1] != 3 {
		t.Errorf("got %v", got)
	}
	if got := voidParams(types[:8]); len(got) != 1 {
		t.Errorf("of a short message: %v", got)
	}
	if got := voidParams(nil); got != nil {
		t.Errorf("of none: %v", got)
	}
}
