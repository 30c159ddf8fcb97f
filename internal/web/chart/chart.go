// Package chart works out what charts and pictures look like: numbers in, coordinates out. The SVG
// around them is the templates'.
package chart

import (
	"math"
	"strconv"
	"strings"
)

// Size of a chart's own coordinates; it is stretched to the room it has.
const (
	Width  = 360
	Height = 56
)

// Line is a line of a chart, with the area below it.
type Line struct {
	Path, Area string // of SVG; "": there is nothing to draw
	Last       float64
}

// Chart is some lines over the same time.
type Chart struct {
	Lines []Line
	Most  float64 // what the top stands for
}

// New draws values that lie at equal distances in time, the last one being now; NaN is a gap. All have the same length.
func New(series ...[]float64) Chart {
	c := Chart{}
	for _, s := range series {
		for _, v := range s {
			if v > c.Most {
				c.Most = v
			}
		}
	}
	for _, s := range series {
		c.Lines = append(c.Lines, line(s, c.Most))
	}
	return c
}

func line(values []float64, most float64) Line {
	l := Line{Last: math.NaN()}
	if most <= 0 {
		most = 1
	}
	var path, area strings.Builder
	begun := -1
	last := 0.0
	end := func() {
		if begun >= 0 {
			area.WriteString("L" + coordinate(last) + " " + coordinate(Height) + "Z")
			begun = -1
		}
	}
	step := float64(Width) / math.Max(1, float64(len(values)-1))
	for i, v := range values {
		if math.IsNaN(v) {
			end()
			continue
		}
		x, y := float64(i)*step, Height-1-(Height-3)*math.Max(0, v)/most
		at := coordinate(x) + " " + coordinate(y)
		if begun < 0 {
			begun = i
			path.WriteString("M" + at + "l0 0") // a point is drawn, too
			area.WriteString("M" + coordinate(x) + " " + coordinate(Height) + "L" + at)
		} else {
			path.WriteString("L" + at)
			area.WriteString("L" + at)
		}
		last, l.Last = x, v
	}
	end()
	l.Path, l.Area = path.String(), area.String()
	return l
}

// coordinate writes a number as short as it may be.
func coordinate(v float64) string { return strconv.FormatFloat(math.Round(v*10)/10, 'f', -1, 64) }
