package web

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"mbusproxy/internal/bulk"
)

func (p *Page) deadViews() []*view {
	return []*view{
		{path: Path + "dead", sheet: "dead.html", nav: "Dead", load: loadDead},
		{path: Path + "dead/preview", sheet: "deadpreview.html", under: Path + "dead", load: previewDead},
	}
}

func (p *Page) deadForms() []*form {
	return []*form{
		{path: Path + "dead/begin", run: beginOperation},
		{path: Path + "operation/steer", run: steerOperation},
	}
}

const (
	deadOnPage   = 50
	deadSamples  = 5
	previewLimit = 2 * time.Second // of counting
)

// bulkRights are what a log-in may do with what is dead.
type bulkRights struct {
	See   bool // what is dead, and its own operations
	Act   bool // begin operations
	Audit bool
}

const bulkRightsSQL = `
select coalesce(pg_catalog.has_table_privilege(pg_catalog.to_regclass('mbus4.message'), 'select') and pg_catalog.has_table_privilege(pg_catalog.to_regclass('mbus4.operation'), 'select'), false),
       coalesce(pg_catalog.has_table_privilege(pg_catalog.to_regclass('mbus4.message'), 'delete') and pg_catalog.has_table_privilege(pg_catalog.to_regclass('mbus4.message'), 'insert')
           and pg_catalog.has_any_column_privilege(pg_catalog.to_regclass('mbus4.operation'), 'insert'), false),
       coalesce(pg_catalog.has_table_privilege(pg_catalog.to_regclass('mbus4.audit'), 'select'), false)`

func bulkRightsOf(ctx context.Context, tx pgx.Tx) (r bulkRights, err error) {
	if err := tx.QueryRow(ctx, bulkRightsSQL).Scan(&r.See, &r.Act, &r.Audit); err != nil {
		return r, fmt.Errorf("asking for the role's rights: %w", err)
	}
	return r, nil
}

var noDead = &problem{
	403, "Not allowed", "Your role may not see dead messages in this database, or the schema mbus4 is older than this proxy.",
	"Members of mbus4_user may; `mbusproxy init` brings the schema up to date.",
}

// deadAsked is which dead messages are asked for, as the fields of the form have it.
type deadAsked struct {
	Queue, Consumer, Selector, Since, Until Text
}

func readAsked(get func(string) string) deadAsked {
	return deadAsked{Queue: Text(get("queue")), Consumer: Text(get("consumer")), Selector: Text(get("selector")), Since: Text(get("since")), Until: Text(get("until"))}
}

// selection is the same as bulk takes it.
func (a deadAsked) selection() (s bulk.Selection, err error) {
	s = bulk.Selection{Queue: a.Queue.Raw(), Consumer: a.Consumer.Raw(), Selector: a.Selector.Raw()}
	for _, t := range []struct {
		text Text
		into *time.Time
	}{{a.Since, &s.Since}, {a.Until, &s.Until}} {
		if *t.into, err = readTime(t.text.Raw()); err != nil {
			return s, err
		}
	}
	if strings.ContainsRune(s.Queue+s.Consumer+s.Selector, 0) {
		return s, &problem{400, "Invalid text", "A text in Postgres cannot contain the character 0.", ""}
	}
	return s, nil
}

// readTime reads a time in UTC, as browsers send it; "" is none.
func readTime(s string) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{"2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04:05", "2006-01-02"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t, nil
		}
	}
	return time.Time{}, &problem{400, "Invalid time", Text(fmt.Sprintf("%q cannot be read as a time.", visible(s, 100))), "Write it as 2026-01-31T12:00:00, in UTC."}
}

// fields are those of an address that asks for the same.
func (a deadAsked) fields() url.Values {
	v := url.Values{}
	for name, t := range map[string]Text{"queue": a.Queue, "consumer": a.Consumer, "selector": a.Selector, "since": a.Since, "until": a.Until} {
		if t != "" {
			v.Set(name, t.Raw())
		}
	}
	return v
}

// deadMessage is a dead message as the pages show it.
type deadMessage struct {
	IID, Queue, Consumer, Error Text
	Died, Expires               time.Time
	Attempts                    int
	Data, Properties, Headers   []deadPair
}

// deadPair is a key with its value.
type deadPair struct {
	Key, Value Text
	Null       bool
}

func pairsOf(m map[string]*string) []deadPair {
	var pairs []deadPair
	for k, v := range m {
		p := deadPair{Key: Text(k), Null: v == nil}
		if v != nil {
			p.Value = Text(*v)
		}
		pairs = append(pairs, p)
	}
	slices.SortFunc(pairs, func(a, b deadPair) int { return strings.Compare(string(a.Key), string(b.Key)) })
	return pairs
}

func showDead(messages []bulk.Message) []deadMessage {
	var rows []deadMessage
	for _, m := range messages {
		rows = append(rows, deadMessage{
			IID: Text(m.IID), Queue: Text(m.Queue), Consumer: Text(m.Consumer), Error: Text(m.Error), Died: m.Died, Expires: m.Expires, Attempts: m.Attempts,
			Data: pairsOf(m.Data), Properties: pairsOf(m.Properties), Headers: pairsOf(m.Headers),
		})
	}
	return rows
}

// deadSheet is what dead.html shows.
type deadSheet struct {
	Asked    deadAsked
	Messages []deadMessage
	Next     string // the address of what comes behind
	First    bool
	Begin    string
	May      bulkRights
}

func loadDead(c *call) (*shown, error) {
	sheet := &deadSheet{Asked: readAsked(c.query.Get), First: c.query.Get("after") == ""}
	var err error
	if sheet.May, err = bulkRightsOf(c.ctx, c.tx); err != nil {
		return nil, err
	}
	if !sheet.May.See {
		return nil, noDead
	}
	s, err := sheet.Asked.selection()
	if err != nil {
		return nil, err
	}
	after, err := readPlace(c.query.Get("after"))
	if err != nil {
		return nil, err
	}
	messages, next, err := bulk.List(c.ctx, c.tx, s, after, deadOnPage, mostInList)
	if err != nil {
		return nil, err
	}
	sheet.Messages = showDead(messages)
	fields := sheet.Asked.fields()
	sheet.Begin = Path + "dead?" + fields.Encode()
	if next != nil {
		fields.Set("after", fmt.Sprintf("%d.%d", next.At.UnixMicro(), next.ID))
		sheet.Next = Path + "dead?" + fields.Encode()
	}
	return &shown{title: "Dead messages", body: sheet}, nil
}

// readPlace reads where to go on; "" is the beginning.
func readPlace(s string) (*bulk.Place, error) {
	if s == "" {
		return nil, nil
	}
	at, id, _ := strings.Cut(s, ".")
	micros, err := strconv.ParseInt(at, 10, 64)
	number, err2 := strconv.ParseInt(id, 10, 64)
	if err != nil || err2 != nil || micros < 0 || micros > 1<<53 {
		return nil, &problem{400, "Page not found", "The address does not say where the list continues.", ""}
	}
	return &bulk.Place{At: time.UnixMicro(micros).UTC(), ID: number}, nil
}

// previewSheet is what deadpreview.html shows.
type previewSheet struct {
	Asked          deadAsked
	Kind           Text
	Target         Text
	TargetConsumer Text
	Queues         []Text // to move to
	Count          bulk.Count
	Samples        []deadMessage
	Back           string
	Until          string // when it was counted: what has died since is not meant
	May            bulkRights
}

func previewDead(c *call) (*shown, error) {
	sheet := &previewSheet{Asked: readAsked(c.query.Get), Kind: Text(c.query.Get("kind")), Target: Text(c.query.Get("target")), TargetConsumer: Text(c.query.Get("targetconsumer"))}
	if !slices.Contains([]Text{Text(bulk.Redrive), Text(bulk.Move), Text(bulk.Purge)}, sheet.Kind) {
		return nil, &problem{400, "Operation not found", "An operation is redrive, move or purge.", ""}
	}
	var err error
	if sheet.May, err = bulkRightsOf(c.ctx, c.tx); err != nil {
		return nil, err
	}
	if !sheet.May.See {
		return nil, noDead
	}
	s, err := sheet.Asked.selection()
	if err != nil {
		return nil, err
	}
	if sheet.Kind == Text(bulk.Move) {
		rows, err := c.tx.Query(c.ctx, `select q.qname::text from mbus4.queue q where q.kind operator(pg_catalog.=) 'plain' order by q.qname limit 2000`)
		if err != nil {
			return nil, fmt.Errorf("asking for the queues: %w", err)
		}
		if sheet.Queues, err = pgx.CollectRows(rows, pgx.RowTo[Text]); err != nil {
			return nil, fmt.Errorf("asking for the queues: %w", err)
		}
	}
	sheet.Until = sheet.Asked.Until.Raw()
	if sheet.Until == "" {
		var now time.Time
		if err := c.tx.QueryRow(c.ctx, `select pg_catalog.clock_timestamp()`).Scan(&now); err != nil {
			return nil, fmt.Errorf("asking for the time: %w", err)
		}
		s.Until = now
		sheet.Until = now.UTC().Format("2006-01-02T15:04:05.000000")
	}
	p, err := bulk.Look(c.ctx, c.tx, s, deadSamples, mostInList, previewLimit)
	if err != nil {
		return nil, err
	}
	sheet.Count, sheet.Samples = p.Count, showDead(p.Samples)
	sheet.Back = Path + "dead?" + sheet.Asked.fields().Encode()
	return &shown{title: Text("Preview: " + string(sheet.Kind)), body: sheet}, nil
}

// beginOperation begins what was previewed.
func beginOperation(s *submission) (to, told string, err error) {
	selection, err := readAsked(s.value).selection()
	if err != nil {
		return "", "", err
	}
	request := bulk.Request{Kind: bulk.Kind(s.value("kind")), Selection: selection, TargetQueue: s.value("target"), TargetConsumer: s.value("targetconsumer")}
	var id int64
	err = s.login.Change(s.ctx, func(ctx context.Context, tx pgx.Tx) (err error) {
		id, err = bulk.Begin(ctx, tx, request) // which leaves a row in the audit
		return err
	})
	if err != nil {
		return "", "", err
	}
	s.page.runOperation(s.login, id)
	return link("operation", "id", id), "Started. It pauses when you log out, and continues at your next log-in.", nil
}
