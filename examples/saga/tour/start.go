package tour

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// Start creates a tour and posts its saga, in one transaction, and gives the tour's id.
func Start(ctx context.Context, conn *pgx.Conn, customer string) (id int64, err error) {
	err = pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		if err := tx.QueryRow(ctx, "insert into tour (customer) values ($1) returning tour_id", customer).Scan(&id); err != nil {
			return err
		}
		p := &poster{tx: tx, tourID: id}
		p.saga(ctx)
		p.exec(ctx, "update tour set iids = hstore($2::text[], $3::text[]) where tour_id = $1", id, p.purposes, p.iids)
		p.exec(ctx, "select pg_notify($1, '')", channel)
		return p.err
	})
	if err != nil {
		return 0, fmt.Errorf("starting a tour: %w", err)
	}
	return id, nil
}

// saga posts all messages. The bung and the end of the way forward are named by messages posted
// before them, so their iids are generated.
func (p *poster) saga(ctx context.Context) {
	bung, end := p.generate(ctx, bungQueue), p.generate(ctx, endQueue)

	// The way forward.
	forward := map[Step]string{}
	way := []string{}
	for _, s := range plan() {
		m := post{purpose: string(s.step), queue: s.queue, step: s.step, bung: bung}
		if s.after != "" {
			m.after = []string{forward[s.after]}
		}
		forward[s.step] = p.post(ctx, m)
		way = append(way, forward[s.step])
	}

	// The way back, behind the bung, which knows what there is to take of the way forward.
	p.post(ctx, post{purpose: "bung", queue: bungQueue, iid: bung, take: append(way, end)})
	back := []string{}
	for _, s := range plan() {
		back = append(back, p.post(ctx, post{purpose: "cancel " + string(s.step), queue: s.cancel, step: s.step, after: []string{bung}}))
	}
	cancelled := p.post(ctx, post{purpose: "cancelled", queue: cancelledQueue, after: back})

	// The end of the way forward takes the way back away, the bung first.
	p.post(ctx, post{
		purpose: "end", queue: endQueue, iid: end,
		after: []string{forward[TransferTo], forward[TransferFrom]},
		take:  append(append([]string{bung}, back...), cancelled),
	})
}

// poster posts the messages of one tour. After an error it does nothing any more.
type poster struct {
	tx     pgx.Tx
	tourID int64
	err    error

	purposes, iids []string // of what was posted
}

// post is one message of a saga.
type post struct {
	purpose string // for people who look at the tour
	queue   string
	iid     string // generated beforehand; empty: the bus chooses
	step    Step
	bung    string   // the iid of the tour's bung
	take    []string // iids of the messages its receiver takes away
	after   []string // iids of the messages it is delivered after
}

const postSQL = `
select mbus4.post($1, hstore(array['tour_id', $2::bigint::text, 'step', $3, 'bung', $4, 'take', $5::text[]::text]),
	headers => hstore('consume_after', $6::text[]::text), iid => nullif($7, ''))`

func (p *poster) post(ctx context.Context, m post) (iid string) {
	if p.err != nil {
		return ""
	}
	p.err = p.tx.QueryRow(ctx, postSQL, m.queue, p.tourID, string(m.step), m.bung, m.take, m.after, m.iid).Scan(&iid)
	p.purposes, p.iids = append(p.purposes, m.purpose), append(p.iids, iid)
	return iid
}

func (p *poster) generate(ctx context.Context, queue string) (iid string) {
	if p.err == nil {
		p.err = p.tx.QueryRow(ctx, "select mbus4.generate_new_msgiid($1)", queue).Scan(&iid)
	}
	return iid
}

func (p *poster) exec(ctx context.Context, sql string, args ...any) {
	if p.err == nil {
		_, p.err = p.tx.Exec(ctx, sql, args...)
	}
}
