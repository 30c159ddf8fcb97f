package web

import (
	"testing"
)

// Somebody who does not know the password stays outside; who does sees the queues, and is outside
// again after logging out.
func TestLogin(t *testing.T) {
	t.Parallel()
	s := newSite(t, "orders")
	b := newBrowser(t, desk)
	b.open("")
	if at := b.at(); at != "/page/login" {
		t.Fatalf("who has not logged in is at %s", at)
	}
	b.expect("status of 403")
	b.logIn(s.user, "wrong", s.database)
	b.has("password authentication failed")
	b.logIn(s.user, password, s.database)
	b.has("Overview", "orders", s.user)
	b.press("Log out")
	b.has("Postgres user")
	b.open("")
	if at := b.at(); at != "/page/login" {
		t.Errorf("after logging out: at %s", at)
	}
}
