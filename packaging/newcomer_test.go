package packaging

import (
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"mbusproxy/internal/pgcluster"
)

// fiveMinutes is what the README promises.
const fiveMinutes = 5 * time.Minute

// TestNewcomer does on a clean Debian what the README says one with a package and a Postgres does,
// and looks at the page and the metrics.
func TestNewcomer(t *testing.T) {
	needLong(t, "mmdebstrap", "systemd-nspawn", "nsenter", "unshare")
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(readme), "\n## With the package, in five minutes\n")
	_, commands, found := strings.Cut(section, "```sh\n")
	commands, _, ended := strings.Cut(commands, "```\n")
	if !found || !ended {
		t.Fatal("the README has no such section, or no commands in it")
	}
	dist := t.TempDir()
	build(t, dist, "0.1.0")
	server, err := pgcluster.Temp(pgcluster.Config{HBA: []string{"local all all trust", "host all all 127.0.0.1/32 scram-sha-256"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Stop(t.Context()) })
	setPassword(t, server)
	m := newMachine(t)

	// The network is this machine's: its ports may be taken.
	proxy, http := freePort(t), freePort(t)
	m.write("/etc/systemd/system/mbusproxy.socket.d/here.conf", fmt.Sprintf("[Socket]\nListenStream=\nListenStream=127.0.0.1:%d\n", proxy))
	here := strings.NewReplacer(
		"./mbusproxy_0.1.0-1_amd64.deb", m.install(one(t, dist+"/mbusproxy_0.1.0-1_*.deb")),
		"5432", fmt.Sprint(server.Port()), "6432", fmt.Sprint(proxy), "9187", fmt.Sprint(http),
	).Replace(commands)
	began := time.Now()
	out := m.run("set -e\n" + here)
	if !strings.Contains(out, `"customer"=>"7"`) {
		t.Errorf("no message:\n%s", out)
	}
	if !regexp.MustCompile(`consumer_messages\{[^}]*queue="orders"[^}]*state="ready"\} 1$`).MatchString(out) {
		t.Errorf("no such metric at the end:\n%s", out)
	}
	address := regexp.MustCompile(`so does the page, \[http://127\.0\.0\.1:9187(/[^\]]*)\]`).FindStringSubmatch(section)
	if address == nil {
		t.Fatal("the README does not say where the page is")
	}
	page := lookAtPage(t, fmt.Sprintf("http://127.0.0.1:%d%s", http, address[1]))
	if !strings.Contains(page, "orders") {
		t.Errorf("the page does not show the queue:\n%s", page)
	}
	took := time.Since(began)
	t.Logf("it took %v", took.Round(time.Second))
	if took > fiveMinutes {
		t.Errorf("it took %v", took)
	}
}

// setPassword gives postgres the README's password.
func setPassword(t *testing.T, server *pgcluster.Cluster) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), fmt.Sprintf("host=%s port=%d user=postgres dbname=postgres", server.SocketDir(), server.Port()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	if _, err := conn.Exec(t.Context(), "alter role postgres password 'secret'"); err != nil {
		t.Fatal(err)
	}
}

var formToken = regexp.MustCompile(`name="form" value="([^"]+)"`)

// lookAtPage logs in as the README's user and returns what there is to see first.
func lookAtPage(t *testing.T, address string) string {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Jar: jar, Timeout: patience}
	read := func(resp *http.Response, err error) (*http.Response, string) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		body, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s %v\n%s", resp.Request.URL, resp.Status, err, body)
		}
		return resp, string(body)
	}
	asked, form := read(client.Get(address))
	token := formToken.FindStringSubmatch(form)
	if token == nil {
		t.Fatalf("no form to log in:\n%s", form)
	}
	_, page := read(client.PostForm(asked.Request.URL.String(), url.Values{
		"form": {token[1]}, "user": {"postgres"}, "password": {"secret"}, "database": {"postgres"}, "next": {""},
	}))
	return page
}
