package wire

import (
	"bytes"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"
)

// A parameter is put behind the others, with the format that it needs, and what follows stays.
func TestWithParameter(t *testing.T) {
	t.Parallel()
	for name, bind := range map[string]pgproto3.Bind{
		"none":         {},
		"one":          {Parameters: [][]byte{[]byte("x")}},
		"null":         {Parameters: [][]byte{nil, []byte("")}},
		"one format":   {Parameters: [][]byte{[]byte("x"), []byte("y")}, ParameterFormatCodes: []int16{1}},
		"formats":      {Parameters: [][]byte{[]byte("x"), []byte("y")}, ParameterFormatCodes: []int16{1, 0}},
		"results":      {Parameters: [][]byte{[]byte("x")}, ResultFormatCodes: []int16{1, 0, 1}},
		"named":        {DestinationPortal: "p", PreparedStatement: "s", Parameters: [][]byte{[]byte("x")}},
		"many formats": {Parameters: [][]byte{{1}, {2}, {3}}, ParameterFormatCodes: []int16{1, 1, 1}, ResultFormatCodes: []int16{1}},
	} {
		frame, err := bind.Encode(nil)
		if err != nil {
			t.Fatal(err)
		}
		body := frame[HeaderSize:]
		_, _, rest, _ := BindNames(body)
		out, ok := WithParameter(rest, len(bind.Parameters), "value")
		if !ok {
			t.Errorf("%s: refused", name)
			continue
		}
		var got pgproto3.Bind
		if err := got.Decode(append(bytes.Clone(body[:len(body)-len(rest)]), out...)); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		n := len(bind.Parameters)
		if len(got.Parameters) != n+1 || string(got.Parameters[n]) != "value" || len(got.ResultFormatCodes) != len(bind.ResultFormatCodes) {
			t.Errorf("%s: got %+v", name, got)
		}
		for i, p := range bind.Parameters {
			if !bytes.Equal(got.Parameters[i], p) || (p == nil) != (got.Parameters[i] == nil) {
				t.Errorf("%s: parameter %d is %q, was %q", name, i, got.Parameters[i], p)
			}
		}
		if f := got.ParameterFormatCodes; len(f) > 1 && (len(f) != n+1 || f[n] != 0) {
			t.Errorf("%s: formats %v", name, f)
		}
		for _, wrong := range []int{n - 1, n + 1} {
			if _, ok := WithParameter(rest, wrong, "value"); ok {
				t.Errorf("%s: taken for a Bind of %d", name, wrong)
			}
		}
	}
}

func TestWithoutLastParameter(t *testing.T) {
	t.Parallel()
	frame, _ := (&pgproto3.ParameterDescription{ParameterOIDs: []uint32{25, 23}}).Encode(nil)
	var got pgproto3.ParameterDescription
	if err := got.Decode(WithoutLastParameter(frame)[HeaderSize:]); err != nil || len(got.ParameterOIDs) != 1 || got.ParameterOIDs[0] != 25 {
		t.Errorf("got %+v, %v", got, err)
	}
	if out := WithoutLastParameter(AppendFrame(nil, MsgParameterDescription, []byte{0, 0})); out != nil {
		t.Errorf("of none it takes one: %q", out)
	}
}

func FuzzWithParameter(f *testing.F) {
	f.Add([]byte{0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 'x', 0, 0}, 1)
	f.Add([]byte{0, 0, 0, 1, 0xff, 0xff, 0xff, 0xff, 0, 0}, 1)
	f.Fuzz(func(t *testing.T, rest []byte, parameters int) {
		out, ok := WithParameter(rest, parameters, "value")
		if !ok {
			return
		}
		names := []byte{0, 0}
		values, ok := ReadValues(append(names, out...))
		if !ok || values.Len() != parameters+1 {
			t.Fatalf("%q has become %q", rest, out)
		}
	})
}
