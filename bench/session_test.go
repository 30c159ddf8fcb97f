package main

import (
	"net"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"
)

// reply plays a reply to a session byte by byte, and gives what the session makes of it.
func reply(t *testing.T, messages ...pgproto3.BackendMessage) (*session, error) {
	t.Helper()
	client, server := net.Pipe()
	defer func() { _ = client.Close() }()
	var text []byte
	for _, m := range messages {
		var err error
		if text, err = m.Encode(text); err != nil {
			t.Fatal(err)
		}
	}
	played := make(chan error, 1)
	go func() {
		defer func() { _ = server.Close() }()
		if _, err := server.Read(make([]byte, 64)); err != nil {
			played <- err
			return
		}
		for i := range text {
			if _, err := server.Write(text[i : i+1]); err != nil {
				played <- err
				return
			}
		}
		played <- nil
	}()
	s := &session{conn: client, read: make([]byte, 16)} // smaller than the messages
	err := s.exchange([]byte("question"))
	if err := <-played; err != nil {
		t.Fatal(err)
	}
	return s, err
}

func TestExchangeReadsRows(t *testing.T) {
	long := strings.Repeat("Z", 100) // looks like the end of a reply, and is longer than the buffer
	s, err := reply(t, &pgproto3.DataRow{Values: [][]byte{[]byte("first")}}, &pgproto3.DataRow{Values: [][]byte{[]byte("7"), nil, []byte(long)}},
		&pgproto3.CommandComplete{CommandTag: []byte("SELECT 2")}, &pgproto3.ReadyForQuery{TxStatus: 'I'})
	if err != nil {
		t.Fatal(err)
	}
	if s.rows != 2 || len(s.row) != 3 || string(s.row[0]) != "7" || s.row[1] != nil || string(s.row[2]) != long {
		t.Errorf("%d rows, the last one %q", s.rows, s.row)
	}
}

// An error is told when the whole reply has been read, so that the next request has its own.
func TestExchangeTellsOfErrors(t *testing.T) {
	s, err := reply(t, &pgproto3.ErrorResponse{Severity: "ERROR", Code: "42704", Message: "no such queue"}, &pgproto3.ReadyForQuery{TxStatus: 'I'})
	if err == nil || err.Error() != "no such queue" {
		t.Errorf("got %v", err)
	}
	if len(s.in) != 0 {
		t.Errorf("%d bytes are left", len(s.in))
	}
}
