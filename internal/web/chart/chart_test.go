package chart

import (
	"math"
	"strings"
	"testing"
)

func TestNew(t *testing.T) {
	t.Parallel()
	none := math.NaN()
	c := New([]float64{0, 10, none, 5, 5}, []float64{none, none, none, none, none})
	if c.Most != 10 {
		t.Errorf("the top is %v", c.Most)
	}
	if want := "M0 55l0 0L90 2M270 28.5l0 0L360 28.5"; c.Lines[0].Path != want {
		t.Errorf("the line is %s", c.Lines[0].Path)
	}
	if want := "M0 56L0 55L90 2L90 56ZM270 56L270 28.5L360 28.5L360 56Z"; c.Lines[0].Area != want {
		t.Errorf("the area is %s", c.Lines[0].Area)
	}
	if c.Lines[1].Path != "" || !math.IsNaN(c.Lines[1].Last) || c.Lines[0].Last != 5 {
		t.Errorf("nothing is %+v", c.Lines[1])
	}
	if got := New(nil).Lines[0].Path; got != "" {
		t.Errorf("no values are %s", got)
	}
}

func TestDraw(t *testing.T) {
	t.Parallel()
	p := Draw([]Box{{Column: 0, Title: "a"}, {Column: 1, Title: "b"}, {Column: 1, Title: "c"}}, []Arrow{{0, 1}, {0, 2}})
	if len(p.Paths) != 2 || p.Boxes[0].X >= p.Boxes[1].X || p.Boxes[1].Y+p.Boxes[1].H > p.Boxes[2].Y {
		t.Errorf("%+v", p)
	}
	for _, b := range p.Boxes {
		if b.X < 0 || b.Y < 0 || b.X+b.W > p.Width || b.Y+b.H > p.Height {
			t.Errorf("%s lies outside: %+v", b.Title, b)
		}
	}
	if strings.Contains(strings.Join(p.Paths, ""), "NaN") {
		t.Error(p.Paths)
	}
}
