package rewriter

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"mbusproxy/proxy/statements"
	"mbusproxy/rewrite/parse"
	"mbusproxy/sqlfuncs"
)

// What is remembered of roles is bounded, and is forgotten in time.
func TestServedClients(t *testing.T) {
	t.Parallel()
	s := newServedClients()
	now := s.began
	s.now = func() time.Time { return now }
	a := servedKey{"d", "a"}
	for i := range 10 * servedRoles {
		s.note(servedKey{"d", strconv.Itoa(i)})
		if i%servedRoles == 0 {
			s.note(a)
		}
	}
	if n := len(s.recent) + len(s.older); n > 2*servedRoles {
		t.Errorf("%d roles are remembered", n)
	}
	if !s.knows(a) || s.knows(servedKey{"other", "a"}) || s.knows(servedKey{"d", "0"}) {
		t.Error("the wrong ones are known")
	}
	s.note(a)
	for _, known := range []bool{true, false} {
		now = now.Add(servedFor)
		if s.knows(a) != known {
			t.Errorf("after %v: known %v", now.Sub(s.began), !known)
		}
	}
	s.note(a)
	if now = now.Add(2 * servedFor); s.knows(a) {
		t.Error("known after twice the time")
	}
}

// everyCall returns statements with a call of each function, also where it does not run. Its arguments are value.
func everyCall(value string) (out []string) {
	for _, f := range sqlfuncs.All() {
		name := f.Name
		if f.Pattern != "" {
			if name = f.Pattern + "q"; f.By {
				name += "_by_c"
			}
		}
		var args []string
		for _, p := range f.Params[f.Implied:] {
			if !p.Optional {
				args = append(args, value)
			}
		}
		call := fmt.Sprintf("mbus4.%s(%s)", name, strings.Join(args, ", "))
		if f.Procedure {
			out = append(out, "call "+call)
			continue
		}
		out = append(out, "select "+call, "select * from "+call, "select 1 where false and "+call+" is null", "explain select "+call)
	}
	return out
}

// A role that may not use the schema runs no call, in any way, so it is never taken for one that is served; one that
// may is.
func TestWhoIsServed(t *testing.T) {
	t.Parallel()
	cluster, eng := engineOnCluster(t)
	r := New(eng, nil, parse.New(), false)
	sessions := map[string]*pgconn.PgConn{}
	run := func(role, text string) (err error) {
		conn := sessions[role]
		if conn == nil {
			if conn, err = pgconn.Connect(t.Context(), cluster.DSN("postgres")+" user="+role); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = conn.Close(context.Background()) })
			sessions[role] = conn
		}
		sc := statements.Context{User: role, Database: "postgres", Encoding: "UTF8", Secret: "ABCDEFGHIJKLMNOP", Simple: true}
		p := r.Rewrite(t.Context(), sc, text)
		if p == nil {
			_, err = conn.Exec(t.Context(), text).ReadAll()
			return err
		}
		_, err = conn.Exec(t.Context(), p.SQL()).ReadAll()
		p.Ran(err == nil)
		return err
	}
	for _, text := range []string{"create role nobody login; create role somebody login", "select mbus4.create_queue('q', 1)"} {
		if err := run("postgres", text); err != nil {
			t.Fatal(err)
		}
	}
	for _, text := range slices.Concat(everyCall("null"), everyCall("'select 1'"), everyCall("1")) {
		if err := run("nobody", text); err == nil && r.served.knows(servedKey{"postgres", "nobody"}) {
			r.served = newServedClients()
			t.Errorf("a role without rights is taken for one that is served after %s", text)
		}
	}
	if r.served.knows(servedKey{"postgres", "nobody"}) || !r.served.knows(servedKey{"postgres", "postgres"}) {
		t.Error("the wrong ones are taken for served")
	}
	if err := run("postgres", "grant mbus4_user to somebody"); err != nil {
		t.Fatal(err)
	}
	if err := run("somebody", "select mbus4.is_msg_exists('x')"); err != nil || !r.served.knows(servedKey{"postgres", "somebody"}) {
		t.Errorf("a role with rights is not taken for one that is served: %v", err)
	}
}
