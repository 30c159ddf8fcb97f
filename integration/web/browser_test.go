package web

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"mbusproxy/integration/internal/harness"
)

// chromium is the one browser of the room; each test has a context of its own in it, with its own cookies.
var chromium = sync.OnceValues(func() (context.Context, error) {
	var path string
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if p, err := exec.LookPath(name); err == nil {
			path = p
			break
		}
	}
	if path == "" {
		return nil, errors.New("there is no chromium: scripts/setup.sh test installs it")
	}
	ctx, _ := chromedp.NewExecAllocator(context.Background(), chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.Headless, chromedp.NoFirstRun, chromedp.DisableGPU,
		chromedp.Flag("force-color-profile", "srgb"), chromedp.Flag("font-render-hinting", "none"), chromedp.Flag("disable-dev-shm-usage", true)) // closeBrowser ends it
	ctx, _ = chromedp.NewContext(ctx)
	if err := chromedp.Do(ctx); err != nil {
		return nil, err
	}
	opened = ctx
	return ctx, nil
})

// opened is the context of the browser, once chromium has returned it.
var opened context.Context

// closeBrowser closes the browser, if there is one, and looks whether it has left its folder behind.
func closeBrowser() error {
	if opened == nil {
		return nil
	}
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", chromedp.FromContext(opened).Browser.Process().Pid))
	if err != nil {
		return fmt.Errorf("the browser has ended before: %w", err)
	}
	ctx, cancel := context.WithTimeout(opened, 20*time.Second)
	defer cancel()
	if err := chromedp.Cancel(ctx); err != nil {
		return fmt.Errorf("closing the browser: %w", err)
	}
	chromedp.FromContext(opened).Allocator.Wait()
	for argument := range strings.SplitSeq(string(line), "\x00") {
		if folder, is := strings.CutPrefix(argument, "--user-data-dir="); is {
			if _, err := os.Stat(folder); !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("the browser has left %s behind", folder)
			}
			return nil
		}
	}
	return fmt.Errorf("the browser has no folder: %q", line)
}

// browser is a window of its own, which remembers what should not happen in it.
type browser struct {
	t   *testing.T
	ctx context.Context

	mu       sync.Mutex
	wrong    []string // messages of the console, exceptions, requests to anywhere else
	expected []string // parts of what the test means to go wrong
}

// screen is how a browser shows pages.
type screen struct {
	width, height int64
	dark          bool
}

var (
	desk      = screen{1280, 900, false}
	telephone = screen{390, 844, false}
)

// newBrowser opens a window.
func newBrowser(t *testing.T, s screen) *browser {
	t.Helper()
	parent, err := chromium()
	if err != nil {
		t.Fatal(err)
	}
	b := &browser{t: t}
	ctx, cancel := chromedp.NewContext(parent, chromedp.WithNewBrowserContext(), chromedp.WithListener(b.watch))
	t.Cleanup(cancel)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("opening a window: %v", err)
	}
	ctx, stop := context.WithTimeout(ctx, harness.TestLimit-5*time.Second)
	t.Cleanup(stop)
	b.ctx = ctx
	send(b, network.Enable, network.EnableParams{})
	send(b, log.Enable, cdp.Empty{})
	b.look(s)
	t.Cleanup(func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, w := range b.wrong {
			t.Errorf("in the browser: %s", w)
		}
	})
	return b
}

// send sends the browser a command of its protocol.
func send[P, R any](b *browser, cmd cdp.Command[P, R], params P) R {
	b.t.Helper()
	r, err := chromedp.Call(b.ctx, cmd, params)
	if err != nil {
		b.t.Fatalf("browser: %s: %v", cmd.Method, err)
	}
	return r
}

// evaluate evaluates a script in the page, or in the one that has taken its place before the script could run.
func evaluate[T any](b *browser, script string) T {
	b.t.Helper()
	for {
		v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](script))
		var e *cdproto.Error
		if errors.As(err, &e) && e.Message == "Cannot find context with specified id" {
			continue
		}
		if err != nil {
			b.t.Fatalf("browser: %s: %v", script, err)
		}
		return v
	}
}

// watch is told of everything that happens in the window.
func (b *browser) watch(event any) {
	var what string
	switch e := event.(type) {
	case *runtime.EventConsoleAPICalled:
		what = fmt.Sprintf("console.%s %v", e.Type, e.Args)
	case *runtime.EventExceptionThrown:
		what = fmt.Sprintf("exception %+v", e.ExceptionDetails)
	case *log.EventEntryAdded:
		what = fmt.Sprintf("%s %s: %s %s", e.Entry.Source, e.Entry.Level, e.Entry.Text, e.Entry.URL)
	case *network.EventRequestWillBeSent:
		if !strings.HasPrefix(e.Request.URL, base) && e.Request.URL != "about:blank" {
			what = "a request to " + e.Request.URL
		}
	}
	if what == "" {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if !slices.ContainsFunc(b.expected, func(s string) bool { return strings.Contains(what, s) }) {
		b.wrong = append(b.wrong, what)
	}
}

// expect says that something will go wrong which the browser notes, such as an answer 403.
func (b *browser) expect(part string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.expected = append(b.expected, part)
}

func (b *browser) do(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, actions...); err != nil {
		b.t.Fatalf("browser: %v", err)
	}
}

// look sets how large the window is, and whether it is dark.
func (b *browser) look(s screen) {
	b.t.Helper()
	scheme := "light"
	if s.dark {
		scheme = "dark"
	}
	send(b, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: s.width, Height: s.height, DeviceScaleFactor: 1, Mobile: s.width < 600})
	send(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"}}})
}

// open loads a page of ours.
func (b *browser) open(path string) {
	b.t.Helper()
	b.do(chromedp.Navigate(base + path))
}

// follow does something that leads to another page, and waits until that is loaded.
func (b *browser) follow(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	evaluate[bool](b, "window.before = true")
	b.do(actions...)
	b.await(`!window.before && document.readyState == "complete"`)
}

// press follows a button or link with that text.
func (b *browser) press(text string) {
	b.t.Helper()
	b.follow(chromedp.Click(chromedp.Search(fmt.Sprintf(`//*[self::button or self::a][normalize-space()=%q]`, text))))
}

// fill writes into a field.
func (b *browser) fill(selector, value string) {
	b.t.Helper()
	b.do(chromedp.SetValue(chromedp.CSS(selector), value))
}

// text is what one can read in an element.
func (b *browser) text(selector string) string {
	b.t.Helper()
	return evaluate[string](b, fmt.Sprintf(`(document.querySelector(%q) || {innerText: ""}).innerText`, selector))
}

// await waits until a script is true.
func (b *browser) await(script string) {
	b.t.Helper()
	for until := time.Now().Add(harness.AskLimit); !evaluate[bool](b, "!!("+script+")"); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(until) {
			b.t.Fatalf("browser: waited in vain for %s\n%s", script, b.text("main"))
		}
	}
}

// has checks that the page says something.
func (b *browser) has(parts ...string) {
	b.t.Helper()
	text := b.text("body")
	for _, p := range parts {
		if !strings.Contains(text, p) {
			b.t.Errorf("the page does not say %q:\n%s", p, text)
		}
	}
}

// hasNot checks that it does not.
func (b *browser) hasNot(parts ...string) {
	b.t.Helper()
	text := b.text("body")
	for _, p := range parts {
		if strings.Contains(text, p) {
			b.t.Errorf("the page says %q:\n%s", p, text)
		}
	}
}

// at is the path of the page that is shown.
func (b *browser) at() string {
	b.t.Helper()
	return evaluate[string](b, "location.pathname")
}

// logIn gives a user and a password, in a database.
func (b *browser) logIn(user, password, database string) {
	b.t.Helper()
	b.open("login")
	b.fill("#user", user)
	b.fill("#password", password)
	b.fill("#database", database)
	b.press("Log in")
}

// nodes counts the elements of a selector.
func (b *browser) nodes(selector string) int {
	b.t.Helper()
	return evaluate[int](b, fmt.Sprintf(`document.querySelectorAll(%q).length`, selector))
}
