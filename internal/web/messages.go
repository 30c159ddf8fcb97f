package web

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

func (p *Page) messageViews() []*view {
	return []*view{
		{path: Path + "messages", sheet: "messages.html", nav: "Messages", load: loadMessages},
		{path: Path + "message", sheet: "message.html", under: Path + "messages", every: 3 * time.Second, load: loadMessage},
	}
}

// messagesSheet is what messages.html shows.
type messagesSheet struct {
	Queues    []Text
	Consumers []Text
	States    []Text
	Asked     criteria
	Found     *found // nil: nothing was asked for yet
	NextPage  string
	Begin     string // the first page
	First     bool
}

func loadMessages(c *call) (*shown, error) {
	if !c.may.Messages {
		return nil, noSight
	}
	q := c.query
	k := criteria{
		Queue: Text(q.Get("queue")), Consumer: Text(cmp.Or(q.Get("consumer"), "default")), State: Text(q.Get("state")),
		Column: Text(q.Get("column")), Key: Text(q.Get("key")), Value: Text(q.Get("value")), Selector: Text(q.Get("selector")),
	}
	if !slices.Contains(states, k.State) {
		k.State = ""
	}
	if k.Key == "" || !slices.Contains([]Text{"data", "properties", "headers"}, k.Column) {
		k.Column = ""
	}
	sheet := &messagesSheet{States: states, Asked: k, First: q.Get("at") == ""}
	var err error
	if sheet.Queues, err = names(c, `select q.qname from mbus4.queue q order by q.kind operator(pg_catalog.=) 'temp', q.qname limit 2000`); err != nil {
		return nil, err
	}
	out := &shown{title: "Messages", body: sheet}
	if k.Queue == "" {
		return out, nil
	}
	if sheet.Consumers, err = names(c, `select k.name from mbus4.consumer k where k.qname operator(pg_catalog.=) pg_catalog.lower($1) and k.target is null order by k.name limit 1000`, k.Queue.Raw()); err != nil {
		return nil, err
	}
	if len(sheet.Consumers) > 0 && !slices.Contains(sheet.Consumers, k.Consumer) && q.Get("consumer") == "" {
		k.Consumer = sheet.Consumers[0] // it has no default one
		sheet.Asked.Consumer = k.Consumer
	}
	if at := q.Get("at"); at != "" {
		if k.after.At, k.after.ID, err = parsePlace(at); err != nil {
			return nil, err
		}
	}
	if err := k.resolve(c); err != nil {
		return nil, err
	}
	if sheet.Found, err = k.search(c); err != nil {
		return nil, err
	}
	asked := url.Values{}
	for name, v := range map[string]Text{"queue": k.Queue, "consumer": k.Consumer, "state": k.State, "column": k.Column, "key": k.Key, "value": k.Value, "selector": k.Selector} {
		if v != "" {
			asked.Set(name, v.Raw())
		}
	}
	sheet.Begin = Path + "messages?" + asked.Encode()
	if n := sheet.Found.Next; n.At != "" {
		asked.Set("at", n.At+"|"+strconv.FormatInt(n.ID, 10))
		sheet.NextPage = Path + "messages?" + asked.Encode()
	}
	out.title = Text("Messages of " + k.Queue.Raw())
	return out, nil
}

// parsePlace reads where to go on. What is no time the server refuses.
func parsePlace(s string) (at string, id int64, err error) {
	at, number, _ := strings.Cut(s, "|")
	if id, err = strconv.ParseInt(number, 10, 64); err != nil || len(at) > 40 {
		return "", 0, &problem{400, "Page not found", "The address does not say where the list continues.", ""}
	}
	return at, id, nil
}

// names are the values of a query's only column.
func names(c *call, sql string, args ...any) ([]Text, error) {
	type one struct{ Name Text }
	rows, err := collect[one](c, sql, args...)
	if err != nil {
		return nil, fmt.Errorf("asking for names: %w", err)
	}
	out := make([]Text, len(rows))
	for i, r := range rows {
		out[i] = r.Name
	}
	return out, nil
}
