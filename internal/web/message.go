package web

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"mbusproxy/internal/web/chart"
)

// messageSheet is what message.html shows.
type messageSheet struct {
	IID       Text
	Queue     Text // that it was posted to
	Reasons   []reasonRow
	Content   *content // nil: nobody is to get it any more
	Waits     []Text   // what it comes after and is still to be delivered
	Done      []Text   // what it came after and is gone
	Wakes     []Text   // what comes after it
	Triggers  []triggerRow
	Way       chart.Picture
	Elsewhere int // messages with that iid that are not shown in the picture
}

// reasonRow is a row of mbus4.why.
type reasonRow struct {
	Queue, Consumer, State Text
	Until                  *time.Time
	Detail                 Text
	WaitsFor               []string
	PID                    int32
	User, Application      Text
}

// content is what a message holds.
type content struct {
	Added                     time.Time
	DelayedUntil, Expires     *time.Time
	Headers, Properties, Data []pair
	Payload                   Text // indented JSON; "": it has none
	Size                      int64
	Cut                       bool
	after                     []string
}

// mostContent is how many bytes of a message are shown.
const mostContent = 256 << 10

func loadMessage(c *call) (*shown, error) {
	if !c.may.Messages {
		return nil, noSight
	}
	return messageOf(c, Text(c.query.Get("iid")))
}

// placesSQL finds the rows of an iid, as mbus4.reasons does.
const placesSQL = `from (
	select m.* from mbus4.message m where m.iid operator(pg_catalog.=) $1
	union all
	select m.* from mbus4.places_of_iid($1) p
	join mbus4.consumer k on k.qname operator(pg_catalog.=) p.queue
	join mbus4.message m on m.consumer_id operator(pg_catalog.=) k.id and m.available_at operator(pg_catalog.=) p.available_at and m.id operator(pg_catalog.=) p.id
	where m.iid is null
) m`

func messageOf(c *call, iid Text) (*shown, error) {
	s := &messageSheet{IID: iid}
	out := &shown{title: Text("Message " + iid.Short()), body: s}
	if iid == "" || len(iid) > 2000 {
		return out, nil
	}
	var err error
	if s.Reasons, err = collect[reasonRow](c, `select w.queue, w.consumer, w.state, case when pg_catalog.isfinite(w.until) then w.until end, coalesce(pg_catalog."left"(w.detail, 2000), '') as detail, array(select d.iid from pg_catalog.unnest(w.waits_for[1:20]) d (iid) where pg_catalog.octet_length(d.iid) operator(pg_catalog.<=) 2000) as waits_for,
	coalesce(w.pid, 0) as pid, coalesce(w.username, '') as username, coalesce(w.application, '') as application
from mbus4.why($1) w limit 500`, iid.Raw()); err != nil {
		return nil, err
	}
	if err := settle(c.ctx, c.tx); err != nil {
		return nil, fmt.Errorf("asking for the message: %w", err)
	}
	if err := s.read(c); err != nil {
		return nil, err
	}
	if err := s.around(c); err != nil {
		return nil, err
	}
	s.draw()
	return out, nil
}

// read asks what the message holds: the copies differ in nothing that is shown here.
func (s *messageSheet) read(c *call) error {
	var k content
	var headers, properties, data, payload string
	err := c.tx.QueryRow(c.ctx, `select k.qname, case when pg_catalog.isfinite(m.added) then m.added else 'epoch' end, case when pg_catalog.isfinite(m.delayed_until) then m.delayed_until end, case when pg_catalog.isfinite(m.expires) then m.expires end, m.size, array(select d.iid from pg_catalog.unnest(m.after[1:20]) d (iid) where pg_catalog.octet_length(d.iid) operator(pg_catalog.<=) 2000),
	case when m.size operator(pg_catalog.>) $2 then '{}' else coalesce(mbus4_hstore.hstore_to_json(mbus4.headers_of(k.qname, m.added, m.headers) operator(mbus4_hstore.-) 'json.payload'::text)::text, '{}') end,
	case when m.size operator(pg_catalog.>) $2 then '{}' else coalesce(mbus4_hstore.hstore_to_json(m.properties)::text, '{}') end,
	case when m.size operator(pg_catalog.>) $2 then '{}' else coalesce(mbus4_hstore.hstore_to_json(m.data)::text, '{}') end,
	case when m.size operator(pg_catalog.>) $2 then '' else coalesce(m.headers operator(mbus4_hstore.->) 'json.payload'::text, '') end
from (
	select m.*, coalesce(pg_catalog.length(m.headers::text), 0)::bigint operator(pg_catalog.+) coalesce(pg_catalog.length(m.properties::text), 0) operator(pg_catalog.+) coalesce(pg_catalog.length(m.data::text), 0) as size
	`+placesSQL+`
	order by m.consumer_id limit 1
) m
join mbus4.consumer k on k.id operator(pg_catalog.=) m.consumer_id`, s.IID.Raw(), mostContent).Scan(
		&s.Queue, &k.Added, &k.DelayedUntil, &k.Expires, &k.Size, &k.after, &headers, &properties, &data, &payload)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("asking for the message: %w", err)
	}
	k.Headers, k.Properties, k.Data, k.Cut = pairs(headers), pairs(properties), pairs(data), k.Size > mostContent
	if payload != "" {
		var b bytes.Buffer
		if k.Payload = Text(payload); json.Indent(&b, []byte(payload), "", "  ") == nil {
			k.Payload = Text(b.String())
		}
	}
	s.Content = &k
	return nil
}

// around asks what comes before and after it.
func (s *messageSheet) around(c *call) error {
	if s.Content != nil && len(s.Content.after) > 0 {
		type dependency struct {
			IID  Text
			Left bool
		}
		all, err := collect[dependency](c, `select d.iid, mbus4.awaits_delivery(array[d.iid]) from pg_catalog.unnest($1::text[]) with ordinality d (iid, n) order by d.n limit 20`, s.Content.after)
		if err != nil {
			return err
		}
		for _, d := range all {
			if d.Left {
				s.Waits = append(s.Waits, d.IID)
			} else {
				s.Done = append(s.Done, d.IID)
			}
		}
	}
	var err error
	if s.Wakes, err = names(c, `select distinct pg_catalog."left"(mbus4.iid_of(m.iid, k.qname, case when m.iid is not null then m.available_at end, m.id), 2000) as iid
from (select g.consumer_id, g.id from mbus4.waiting g where g.dep operator(pg_catalog.=) $1 order by g.consumer_id, g.id limit 20) g
cross join lateral (select m.* from mbus4.message m where m.consumer_id operator(pg_catalog.=) g.consumer_id and m.available_at operator(pg_catalog.=) 'infinity' and m.id operator(pg_catalog.=) g.id limit 1) m
join mbus4.consumer k on k.id operator(pg_catalog.=) m.consumer_id
where m.iid is not null
order by 1`, s.IID.Raw()); err != nil {
		return err
	}
	if s.Queue == "" {
		return nil
	}
	s.Triggers, err = collect[triggerRow](c, `select t.src, t.dst, coalesce(t.selector, '') as selector from mbus4.trigger t where $1 in (t.src, t.dst) order by t.dst operator(pg_catalog.=) $1, t.src, t.dst limit 20`, s.Queue.Raw())
	return err
}

// mostBoxes is how many boxes of a column are drawn, mostTitle and mostSub how many characters fit into their lines.
const (
	mostBoxes = 8
	mostTitle = 28
	mostSub   = 32
)

// draw makes the picture: what it comes after and from where it may have been copied, the message,
// who is to get it, and what comes after it.
func (s *messageSheet) draw() {
	var boxes []chart.Box
	var arrows []chart.Arrow
	add := func(column int, title, sub string) int {
		boxes = append(boxes, chart.Box{Column: column, Title: cut(title, mostTitle), Sub: cut(sub, mostSub)})
		return len(boxes) - 1
	}
	own := add(1, string(s.IID), "this message")
	boxes[own].Own = true
	left := 0
	before := func(title, sub string) {
		if left++; left <= mostBoxes {
			arrows = append(arrows, chart.Arrow{From: add(0, title, sub), To: own})
		}
	}
	for _, w := range s.Waits {
		before(string(w), "comes first")
	}
	for _, w := range s.Done {
		before(string(w), "came first, is gone")
	}
	right := 0
	after := func(title, sub string) {
		if right++; right <= mostBoxes {
			arrows = append(arrows, chart.Arrow{From: own, To: add(2, title, sub)})
		}
	}
	for _, r := range s.Reasons {
		after(string(r.Queue)+" / "+string(r.Consumer), "gets it: "+string(r.State))
	}
	for _, t := range s.Triggers {
		if t.To == s.Queue {
			before(string(t.From), "queue that is copied here")
		} else {
			after(string(t.To), "queue that gets a copy")
		}
	}
	for _, w := range s.Wakes {
		after(string(w), "waits for this")
	}
	s.Elsewhere = max(0, left-mostBoxes) + max(0, right-mostBoxes)
	if left == 0 {
		for i := range boxes {
			boxes[i].Column--
		}
	}
	s.Way = chart.Draw(boxes, arrows)
}
