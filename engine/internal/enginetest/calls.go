package enginetest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"mbusproxy/engine/calls"
	"mbusproxy/sqlfuncs"
)

// PostSQL puts one message where post would: consumer, expires as an interval ("" for none), iid,
// data.
const PostSQL = `
insert into mbus4.message (id, consumer_id, available_at, added, iid, expires, data)
select case when pg_try_advisory_xact_lock_shared(1835169140, hashtext((select qname from mbus4.consumer where id = $1)) & 63)
                 then nextval('mbus4.post_id') end, $1, clock_timestamp(), now(), $3,
       case $2 when '' then null else now() + $2::text::interval end, hstore('text', $4)`

// NewConsumer makes a queue with one consumer and gives the consumer's id.
const NewConsumer = `
with q as (insert into mbus4.queue (qname, consumers_cnt) values ($1, 1) returning id)
insert into mbus4.consumer (queue_id, qname, name) select id, $1, 'default' from q returning id`

// PlainPost gives the parameters of post that every call of it gives.
func PlainPost(t *testing.T) []sqlfuncs.Param {
	return slices.DeleteFunc(slices.Clone(FunctionServing(t, "post").Arguments(nil)), func(p sqlfuncs.Param) bool {
		return p.Name == "headers" || p.Name == "iid"
	})
}

// FunctionServing is the function of the catalogue that serves calls by that text.
func FunctionServing(t *testing.T, serves string) *sqlfuncs.Func {
	t.Helper()
	for _, f := range sqlfuncs.All() {
		if f.Serves == serves {
			return f
		}
	}
	t.Fatalf("no function serves as %s", serves)
	return nil
}

// InlineUse is a statement around the text that serves the call inline, used so.
func InlineUse(t *calls.Texts, f *sqlfuncs.Func, params []sqlfuncs.Param, use sqlfuncs.Use, args string) string {
	names := []string{"n"}
	for _, p := range params {
		names = append(names, sqlfuncs.QuoteIdent(p.Name))
	}
	values := []string{"1::bigint"}
	placed := map[string]string{}
	for i, value := range strings.SplitN(args, ", ", max(len(params), 1)) {
		if i < len(params) {
			values = append(values, "("+value+")::"+params[i].Type.SQL())
			placed[params[i].Name] = values[i+1]
		}
	}
	fragment := t.Fragment(f, use, sqlfuncs.Names{
		Call: "call", Called: f.Serves, Number: "7", Mark: "7",
		Arg: func(param string) string { return placed[param] },
	})
	if fragment.CTEs == "" {
		return "select " + fragment.Expr
	}
	return fmt.Sprintf("with call_args (%s) as (select %s), %s select call.%s from call", strings.Join(names, ", "),
		strings.Join(values, ", "), fragment.CTEs, f.Serves)
}
