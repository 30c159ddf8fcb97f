package app

import (
	"io"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"mbusproxy/internal/told"
)

// IsLogLevel tells whether name is a level that Config.LogLevel may have.
func IsLogLevel(name string) bool {
	switch name {
	case "debug", "info", "warn", "error":
		return true
	}
	return false
}

// newLog makes a log of one line per event. Events carry no query texts, payloads or passwords.
// The level returned can be changed while the log is in use.
func newLog(level string, to io.Writer) (*zap.Logger, zap.AtomicLevel, error) {
	if to == nil {
		return zap.NewNop(), zap.NewAtomicLevel(), nil
	}
	l, err := zap.ParseAtomicLevel(level)
	if err != nil {
		return nil, l, &told.Error{Message: "unknown log level " + level, Hint: "the levels are debug, info, warn and error", Err: err}
	}
	cfg := zap.NewProductionEncoderConfig()
	cfg.EncodeTime = zapcore.ISO8601TimeEncoder
	cfg.EncodeLevel = zapcore.LowercaseLevelEncoder
	cfg.ConsoleSeparator = " "
	return zap.New(zapcore.NewCore(zapcore.NewConsoleEncoder(cfg), zapcore.Lock(zapcore.AddSync(to)), l)), l, nil
}
