package wiretest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"net"

	"github.com/jackc/pgx/v5/pgproto3"
)

// headerSize is the size of a message's type and length.
const headerSize = 5

// Play sends a script in random pieces over a connection that is ready for queries, and returns the
// replies, each with all its bytes but for the number of the process in a NotificationResponse. The last
// one is how the stream ended.
func Play(conn net.Conn, s Script, rnd *rand.Rand) [][]byte {
	p := player{conn: conn}
	for _, turn := range s {
		var all []byte
		for _, m := range turn.Messages {
			var err error
			if all, err = m.Encode(all); err != nil {
				return append(p.replies, []byte(err.Error()))
			}
			p.sent(m)
		}
		for len(all) > 0 {
			n := min(len(all), 1+rnd.IntN(1+rnd.IntN(4*len(all))))
			if _, err := conn.Write(all[:n]); err != nil {
				return p.toEnd() // the server has ended the session; what it said is compared
			}
			all = all[n:]
		}
		for turn.Wait && len(p.outstanding) > 0 {
			if err := p.receive(); err != nil {
				return append(p.replies, ending(err))
			}
		}
	}
	return p.toEnd()
}

// player counts replies as a simple client does: it knows which are still to come.
type player struct {
	conn        net.Conn
	replies     [][]byte
	outstanding []byte // types of the messages that the server has not answered yet
	skipping    bool   // the server ignores what comes before a Sync
}

// Types of the messages that the server replies to.
const (
	typeBind, typeClose, typeDescribe, typeExecute = 'B', 'C', 'D', 'E'
	typeFunctionCall, typeParse, typeQuery         = 'F', 'P', 'Q'
	typeSync                                       = 'S'
)

func (p *player) sent(m pgproto3.FrontendMessage) {
	typ := byte(0)
	switch m.(type) {
	case *pgproto3.Sync:
		typ, p.skipping = typeSync, false
	case *pgproto3.Query:
		typ = typeQuery
	case *pgproto3.FunctionCall:
		typ = typeFunctionCall
	case *pgproto3.Parse:
		typ = typeParse
	case *pgproto3.Bind:
		typ = typeBind
	case *pgproto3.Describe:
		typ = typeDescribe
	case *pgproto3.Execute:
		typ = typeExecute
	case *pgproto3.Close:
		typ = typeClose
	}
	if typ != 0 && !p.skipping {
		p.outstanding = append(p.outstanding, typ)
	}
}

// receive takes one reply.
func (p *player) receive() error {
	frame := make([]byte, headerSize)
	if _, err := io.ReadFull(p.conn, frame); err != nil {
		return err
	}
	size := int(binary.BigEndian.Uint32(frame[1:])) - 4
	if size < 0 || size > 1<<30 {
		return errors.New("length out of range")
	}
	frame = append(frame, make([]byte, size)...)
	if _, err := io.ReadFull(p.conn, frame[headerSize:]); err != nil {
		return err
	}
	if frame[0] == 'A' {
		clear(frame[headerSize : headerSize+4]) // the process that notified
	}
	p.replies = append(p.replies, frame)
	if len(p.outstanding) > 0 {
		p.settle(frame[0])
	}
	return nil
}

// settle removes from the outstanding messages what a reply of type typ answers.
func (p *player) settle(typ byte) {
	simple := bytes.IndexByte([]byte{typeSync, typeQuery, typeFunctionCall}, p.outstanding[0]) >= 0
	switch {
	case typ == 'Z', bytes.IndexByte([]byte("123"), typ) >= 0,
		p.outstanding[0] == typeDescribe && (typ == 'T' || typ == 'n'),
		p.outstanding[0] == typeExecute && bytes.IndexByte([]byte("CIs"), typ) >= 0:
		p.outstanding = p.outstanding[1:]
	case typ == 'E' && !simple:
		at := bytes.IndexByte(p.outstanding, typeSync)
		if p.skipping = at < 0; p.skipping {
			at = len(p.outstanding)
		}
		p.outstanding = p.outstanding[at:]
	}
}

// toEnd takes all replies until the session has ended.
func (p *player) toEnd() [][]byte {
	for {
		if err := p.receive(); err != nil {
			return append(p.replies, ending(err))
		}
	}
}

// ending says how a stream ended, in words that do not depend on the connection.
func ending(err error) []byte {
	var failed net.Error
	switch {
	case errors.Is(err, io.EOF):
		return []byte("end")
	case errors.As(err, &failed) && failed.Timeout():
		return []byte("nothing comes")
	}
	return []byte("broken")
}
