// Package model plays random operations of several sessions and holds what they see to a model of queues: state, post,
// read and messages are the model; operations and its neighbours are the driver that draws statements, runs them and
// asks the model what may come.
//
// The model is written from the documents; it refuses to know the schema and the SQL that serves a call.
package model

import (
	"testing"

	"mbusproxy/integration/internal/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }
