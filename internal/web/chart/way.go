package chart

// Box is something in a picture of what leads where.
type Box struct {
	Column     int // from the left
	Title, Sub string
	Own        bool // it is what the picture is about
	X, Y, W, H int  // set by Draw
}

// Arrow leads from one box to another, by their places in the list.
type Arrow struct{ From, To int }

// Picture is boxes and arrows with their places.
type Picture struct {
	Boxes         []Box
	Paths         []string // of the arrows
	Width, Height int
}

// Sizes of a picture.
const (
	boxWidth  = 230
	boxHeight = 42
	boxGap    = 12
	columnGap = 60
	margin    = 4
)

// Draw places boxes in columns, each column in the middle of the height.
func Draw(boxes []Box, arrows []Arrow) Picture {
	rows := map[int]int{}
	last := 0
	most := 1
	for _, b := range boxes {
		rows[b.Column]++
		last, most = max(last, b.Column), max(most, rows[b.Column])
	}
	p := Picture{Boxes: boxes, Width: (last+1)*boxWidth + last*columnGap + 2*margin, Height: most*(boxHeight+boxGap) - boxGap + 2*margin}
	next := map[int]int{}
	for i := range boxes {
		b := &boxes[i]
		n := rows[b.Column]
		top := margin + (p.Height-2*margin-n*(boxHeight+boxGap)+boxGap)/2
		b.X, b.Y, b.W, b.H = margin+b.Column*(boxWidth+columnGap), top+next[b.Column]*(boxHeight+boxGap), boxWidth, boxHeight
		next[b.Column]++
	}
	for _, a := range arrows {
		f, t := boxes[a.From], boxes[a.To]
		x, y := float64(f.X+f.W), float64(f.Y+f.H/2)
		u, v := float64(t.X), float64(t.Y+t.H/2)
		mid := (x + u) / 2
		p.Paths = append(p.Paths, "M"+coordinate(x)+" "+coordinate(y)+"C"+coordinate(mid)+" "+coordinate(y)+" "+coordinate(mid)+" "+coordinate(v)+" "+coordinate(u)+" "+coordinate(v))
	}
	return p
}
