package wire

import "testing"

func TestAssembly(t *testing.T) {
	a := Splicer{Pool: NewBufferPool()}
	in := []byte("0123456789")
	for _, c := range []struct {
		do   func()
		want string
	}{
		{func() {}, "0123456789"},
		{func() { a.Truncate(4) }, "0123"},
		{func() { a.Replace(0, 3, nil) }, "3456789"},
		{func() { a.Replace(2, 4, []byte("xyz")) }, "01xyz456789"},
		{func() { a.Replace(2, 4, []byte("x")); a.Replace(8, 10, []byte("y")) }, "01x4567y"},
		{func() { a.Replace(0, 4, []byte("x")); a.Truncate(6) }, "x45"},
		{func() { a.Replace(0, 10, nil) }, ""},
		{func() { a.Replace(0, 4, []byte("x")); a.Truncate(4) }, "x"},
	} {
		a.Begin(in)
		c.do()
		if got := string(a.Result()); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
		a.Free()
	}
}
