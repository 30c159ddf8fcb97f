package bench

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Measures of the picture, in its units.
const (
	pictureWidth = 960
	leftMargin   = 70
	rightMargin  = 20
	topMargin    = 84
	panelHeight  = 120
	panelGap     = 40
	rowHeight    = 20
	plotWidth    = pictureWidth - leftMargin - rightMargin
)

// The colours are variables, so that one picture does for light and dark pages.
const style = `<style>
svg { --ground: #ffffff; --ink: #1f2328; --faint: #59636e; --grid: #d1d9e0; --band: #f3f5f7; --one: #0969da; --two: #bc4c00; }
@media (prefers-color-scheme: dark) {
  svg { --ground: #0d1117; --ink: #f0f6fc; --faint: #9198a1; --grid: #3d444d; --band: #161b22; --one: #4493f8; --two: #f0883e; }
}
.ground { fill: var(--ground); } .band { fill: var(--band); } .grid { stroke: var(--grid); stroke-width: 1; }
text { fill: var(--ink); font: 12px system-ui, sans-serif; } .faint { fill: var(--faint); } .head { font-size: 16px; font-weight: 600; }
.end { text-anchor: end; } .middle { text-anchor: middle; }
polyline { fill: none; stroke-width: 1.5; stroke-linejoin: round; } .one { stroke: var(--one); } .two { stroke: var(--two); stroke-dasharray: 5 3; }
text.one { fill: var(--one); stroke: none; } text.two { fill: var(--two); stroke: none; }
</style>
`

// series is a line of a panel.
type series struct {
	name  string
	value func(sample) float64
}

// panel is a chart of one or two lines that share an axis.
type panel struct {
	title       string
	logarithmic bool
	lines       []series
}

func panels() []panel {
	perSecond := func(n int64, s sample) float64 { return float64(n) / max(s.length.Seconds(), 0.001) }
	inMilliseconds := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
	return []panel{
		{"messages a second", false, []series{
			{"consumed", func(s sample) float64 { return perSecond(s.consumed, s) }},
			{"posted", func(s sample) float64 { return perSecond(s.posted, s) }},
		}},
		{"pick-up, ms (logarithmic)", true, []series{
			{"p50", func(s sample) float64 { return inMilliseconds(percentile(s.pickups, 0.5)) }},
			{"p99", func(s sample) float64 { return inMilliseconds(percentile(s.pickups, 0.99)) }},
		}},
		{"depth, messages", false, []series{{"posted and not consumed", func(s sample) float64 { return float64(s.depth) }}}},
		{"dead rows", false, []series{{"of mbus4.message, not yet vacuumed", func(s sample) float64 { return float64(s.dead) }}}},
	}
}

// picture is an SVG that is being written.
type picture struct {
	bytes.Buffer
	seconds float64 // all samples together
}

func (p *picture) add(format string, args ...any) { fmt.Fprintf(p, format+"\n", args...) }

// write writes a text; class may be empty.
func (p *picture) write(x, y float64, class, text string) {
	var escaped bytes.Buffer
	_ = xml.EscapeText(&escaped, []byte(text)) // into memory
	p.add(`<text x="%.1f" y="%.1f" class="%s">%s</text>`, x, y, class, &escaped)
}

func (p *picture) x(second float64) float64 { return leftMargin + second/p.seconds*plotWidth }

// SVG writes the run as line charts over time, with the figures of each phase as a table.
func (r *Report) SVG(w io.Writer) error {
	p := &picture{}
	for _, s := range r.samples {
		p.seconds += s.length.Seconds()
	}
	p.seconds = max(p.seconds, 0.001)
	all := panels()
	charts := len(all)*(panelHeight+panelGap) + topMargin
	rows := r.table()
	height := charts + (len(rows)+1)*rowHeight + 10
	p.add(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" aria-labelledby="title desc">`, pictureWidth, height, pictureWidth, height)
	title := fmt.Sprintf("mbusproxy bench: %s messages a second, %d consumers, %s of work, %d bytes", strconv.FormatFloat(r.Config.Rate, 'f', -1, 64), r.Config.Consumers, r.Config.Work, r.Config.Size)
	p.add(`<title id="title">%s</title>`, title)
	p.add(`<desc id="desc">Line charts over time of messages posted and consumed a second, the time to pick them up, the depth of the queue and dead rows, in %d phases; a table has their figures.</desc>`, len(rows)-1)
	p.WriteString(style)
	p.add(`<rect class="ground" width="100%%" height="100%%"/>`)
	p.write(leftMargin, 30, "head", title)
	r.bands(p, charts-panelGap)
	for i, one := range all {
		r.chart(p, one, float64(topMargin+i*(panelHeight+panelGap)))
	}
	for i, row := range rows {
		y := float64(charts + i*rowHeight)
		for k, cell := range row {
			class := "end"
			x := leftMargin + 90 + float64(k)*(plotWidth-90)/float64(len(row)-1)
			if k == 0 {
				class, x = "", leftMargin
			}
			if i == 0 {
				class += " faint"
			}
			p.write(x, y, strings.TrimSpace(class), cell)
		}
	}
	p.add("</svg>")
	_, err := w.Write(p.Bytes())
	return err
}

// bands marks where each phase begins and ends.
func (r *Report) bands(p *picture, bottom int) {
	at, from := 0.0, 0.0
	for i, s := range r.samples {
		at += s.length.Seconds()
		if i+1 < len(r.samples) && r.samples[i+1].phase == s.phase {
			continue
		}
		if s.phase%2 == 1 {
			p.add(`<rect class="band" x="%.1f" y="%d" width="%.1f" height="%d"/>`, p.x(from), topMargin-24, p.x(at)-p.x(from), bottom-topMargin+24)
		}
		p.write((p.x(from)+p.x(at))/2, topMargin-30, "middle", phases()[s.phase].name)
		from = at
	}
}

// chart draws a panel whose top is y.
func (r *Report) chart(p *picture, one panel, y float64) {
	var values []float64
	for _, s := range r.samples {
		for _, line := range one.lines {
			values = append(values, line.value(s))
		}
	}
	scale := linear(values)
	if one.logarithmic {
		scale = logarithmic(values)
	}
	p.write(leftMargin, y-8, "faint", one.title)
	legend := float64(pictureWidth - rightMargin)
	for i, line := range one.lines {
		p.write(legend-float64(i)*110, y-8, "end "+class(i), line.name)
	}
	for _, mark := range scale.marks {
		at := y + panelHeight*(1-scale.at(mark))
		p.add(`<line class="grid" x1="%d" x2="%d" y1="%.1f" y2="%.1f"/>`, leftMargin, pictureWidth-rightMargin, at, at)
		p.write(leftMargin-8, at+4, "end faint", strconv.FormatFloat(mark, 'f', -1, 64))
	}
	for i, line := range one.lines {
		var points strings.Builder
		at := 0.0
		for _, s := range r.samples {
			middle := at + s.length.Seconds()/2
			at += s.length.Seconds()
			fmt.Fprintf(&points, "%.1f,%.1f ", p.x(middle), y+panelHeight*(1-scale.at(line.value(s))))
		}
		p.add(`<polyline class="%s" points="%s"/>`, class(i), strings.TrimSpace(points.String()))
	}
	for _, second := range []float64{0, p.seconds} {
		p.write(p.x(second), y+panelHeight+15, "middle faint", strconv.Itoa(int(math.Round(second)))+" s")
	}
}

func class(line int) string { return []string{"one", "two"}[line%2] }

// axis is where values stand on a panel, from 0 at its bottom to 1 at its top.
type axis struct {
	at    func(float64) float64
	marks []float64
}

func linear(values []float64) axis {
	most := ceiling(slices.Max(append(values, 0)))
	return axis{at: func(v float64) float64 { return v / most }, marks: []float64{0, most / 2, most}}
}

// logarithmic has a mark at each power of ten; what is 0 stands at the bottom.
func logarithmic(values []float64) axis {
	low, high := math.Inf(1), math.Inf(-1)
	for _, v := range values {
		if v > 0 {
			low, high = min(low, math.Floor(math.Log10(v))), max(high, math.Ceil(math.Log10(v)))
		}
	}
	if low >= high { // no value, or one that is a power of ten
		low, high = min(low, 0), max(min(low, 0)+1, high)
	}
	a := axis{at: func(v float64) float64 {
		if v <= 0 {
			return 0
		}
		return max(0, (math.Log10(v)-low)/(high-low))
	}}
	for power := low; power <= high; power++ {
		a.marks = append(a.marks, math.Pow(10, power))
	}
	return a
}

// ceiling is the least of 1, 2, 4, 5, 6, 8, 10, times a power of ten, that is not below v.
func ceiling(v float64) float64 {
	if v <= 0 {
		return 1
	}
	power := math.Pow(10, math.Floor(math.Log10(v)))
	for _, step := range []float64{1, 2, 4, 5, 6, 8} {
		if v <= step*power {
			return step * power
		}
	}
	return 10 * power
}

// table are the figures of the phases, below their names.
func (r *Report) table() [][]string {
	rows := [][]string{{"phase", "posted/s", "consumed/s", "p50 ms", "p99 ms", "depth at end", "most", "dead rows", "made/s"}}
	for _, s := range r.summaries() {
		rows = append(rows, []string{
			s.name, decimal(s.posted), decimal(s.consumed), milliseconds(s.p50), milliseconds(s.p99),
			strconv.FormatInt(s.depth, 10), strconv.FormatInt(s.mostDepth, 10), strconv.FormatInt(s.deadRows, 10), decimal(s.died),
		})
	}
	return rows
}
