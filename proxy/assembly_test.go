package proxy

import "testing"

func TestAssembly(t *testing.T) {
	a := assembly{pool: newBufferPool()}
	in := []byte("0123456789")
	for _, c := range []struct {
		do   func()
		want string
	}{
		{func() {}, "0123456789"},
		{func() { a.truncate(4) }, "0123"},
		{func() { a.replace(0, 3, nil) }, "3456789"},
		{func() { a.replace(2, 4, []byte("xyz")) }, "01xyz456789"},
		{func() { a.replace(2, 4, []byte("x")); a.replace(8, 10, []byte("y")) }, "01x4567y"},
		{func() { a.replace(0, 4, []byte("x")); a.truncate(6) }, "x45"},
		{func() { a.replace(0, 10, nil) }, ""},
		{func() { a.replace(0, 4, []byte("x")); a.truncate(4) }, "x"},
	} {
		a.begin(in)
		c.do()
		if got := string(a.result()); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
		a.free()
	}
}
