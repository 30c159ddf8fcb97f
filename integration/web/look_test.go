package web

import (
	"bytes"
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/chromedp/chromedp"

	"mbusproxy/integration/internal/harness"
)

var shots = flag.String("shots", "", "write what each page looks like into this `folder`")

// every are the pages, as furnish fills them.
var every = map[string]string{
	"overview": "", "queue": "queue?name=orders", "messages": "messages?queue=orders", "message": "message?iid=second", "work": "work", "semaphores": "semaphores",
	"semaphore": "semaphore?key=reports", "sessions": "sessions", "horizon": "horizon", "search": "messages?queue=orders&column=data&key=customer&value=c3", "problem": "queue?name=nothing",
	"nothing": "messages?queue=archive&state=dead", "empty": "message?iid=nobody",
}

// What axe-core finds on a page is a defect: names, roles, contrast, order of headings, languages,
// keyboard. Nothing is wider than a telephone, and nothing goes wrong in the browser.
func TestLook(t *testing.T) {
	t.Parallel()
	axe, err := os.ReadFile("node/node_modules/axe-core/axe.min.js")
	if err != nil {
		t.Fatalf("%v: scripts/setup.sh test installs it", err)
	}
	s := newSite(t, "orders", "archive")
	furnish(t, s)
	b := newBrowser(t, desk)
	b.open("login")
	check(b, string(axe), "login", desk)
	b.logIn(s.operator, password, s.database)
	b.expect("status of 404")
	screens := []screen{desk, {390, 844, true}, telephone, {1280, 900, true}}
	if !harness.Long() {
		screens = screens[:2]
	}
	for name, path := range every {
		b.open(path)
		for _, sc := range screens {
			b.look(sc)
			check(b, string(axe), name, sc)
		}
	}
}

// finding is what axe-core says of a page.
type finding struct{ ID, Impact, Help, Where string }

func check(b *browser, axe, name string, s screen) {
	b.t.Helper()
	if *shots != "" {
		b.shoot(filepath.Join(*shots, fmt.Sprintf("%s-%d-%v.png", name, s.width, s.dark)), true)
	}
	if wide := evaluate[int](b, "document.documentElement.scrollWidth"); wide > int(s.width) {
		b.t.Errorf("%s at %d is %d wide", name, s.width, wide)
	}
	if s.dark != (s.width < 600) {
		return // colours do not depend on the width, nor the rest on colours
	}
	if !evaluate[bool](b, "typeof axe === 'object'") {
		evaluate[any](b, axe+";1")
	}
	found, err := chromedp.Run(b.ctx, chromedp.Evaluate[[]finding](`axe.run({resultTypes: ["violations"]}).then((r) => r.violations.map((v) => ({ID: v.id, Impact: v.impact, Help: v.help,
		Where: v.nodes.slice(0, 3).map((n) => n.html.slice(0, 200) + " | " + n.any.concat(n.all).map((x) => x.message).join("; ").slice(0, 200)).join("\n    ")})))`, chromedp.EvalAwaitPromise))
	if err != nil {
		b.t.Fatalf("axe: %v", err)
	}
	for _, f := range found {
		b.t.Errorf("%s at %d, dark %v: %s (%s): %s\n    %s", name, s.width, s.dark, f.ID, f.Impact, f.Help, f.Where)
	}
}

// shoot writes what the window shows, or all of the page.
func (b *browser) shoot(file string, all bool) {
	b.t.Helper()
	action := chromedp.CaptureScreenshot()
	if all {
		action = chromedp.FullScreenshot(100)
	}
	shot, err := chromedp.Run(b.ctx, action)
	if err == nil {
		shot, err = smaller(shot)
	}
	if err == nil {
		err = os.WriteFile(file, shot, 0o644)
	}
	if err != nil {
		b.t.Fatalf("taking a picture: %v", err)
	}
}

// smaller makes an image of 256 colours of another one: those that most of its points have, and for
// others the nearest of them.
func smaller(shot []byte) ([]byte, error) {
	img, _, err := image.Decode(bytes.NewReader(shot))
	if err != nil {
		return nil, err
	}
	size := img.Bounds()
	points := map[color.Color]int{}
	for y := size.Min.Y; y < size.Max.Y; y++ {
		for x := size.Min.X; x < size.Max.X; x++ {
			points[img.At(x, y)]++
		}
	}
	colours := slices.SortedFunc(maps.Keys(points), func(a, b color.Color) int { return points[b] - points[a] })
	out := image.NewPaletted(size, colours[:min(len(colours), 256)])
	nearest := map[color.Color]uint8{}
	for c := range points {
		nearest[c] = uint8(out.Palette.Index(c))
	}
	for y := size.Min.Y; y < size.Max.Y; y++ {
		for x := size.Min.X; x < size.Max.X; x++ {
			out.SetColorIndex(x, y, nearest[img.At(x, y)])
		}
	}
	var b bytes.Buffer
	err = (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&b, out)
	return b.Bytes(), err
}
