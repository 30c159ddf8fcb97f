package semaphore_test

import (
	"os"
	"testing"

	"mbusproxy/engine/internal/enginetest"
)

func TestMain(m *testing.M) { os.Exit(enginetest.Main(m)) }
