package app

import (
	"io"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
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
func newLog(level string, to io.Writer) (*zap.Logger, error) {
	if to == nil {
		return zap.NewNop(), nil
	}
	l, err := zapcore.ParseLevel(level)
	if err != nil {
		return nil, &Error{Message: "unknown log level " + level, Hint: "the levels are debug, info, warn and error", Err: err}
	}
	cfg := zap.NewProductionEncoderConfig()
	cfg.EncodeTime = zapcore.ISO8601TimeEncoder
	cfg.EncodeLevel = zapcore.LowercaseLevelEncoder
	cfg.ConsoleSeparator = " "
	return zap.New(zapcore.NewCore(zapcore.NewConsoleEncoder(cfg), zapcore.Lock(zapcore.AddSync(to)), l)), nil
}
