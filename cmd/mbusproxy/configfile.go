package main

import (
	"fmt"
	"os"
	"strings"
)

// setting is one line of a configuration file.
type setting struct {
	key, value string
	line       int // counted from 1
}

// readConfigFile reads lines of the form `key = value`. Empty lines and lines that begin with # are
// ignored; a value may stand in single or double quotes.
func readConfigFile(path string) ([]setting, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, &usageError{
			message: fmt.Sprintf("the configuration file cannot be read: %v", err),
			hint:    "check the path given with --config",
		}
	}
	var settings []setting
	for i, line := range strings.Split(string(text), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		if !ok || key == "" {
			return nil, &usageError{
				message: fmt.Sprintf("%s, line %d is not of the form `key = value`", path, i+1),
				hint:    "the keys are the names of the flags, for example `listen = 127.0.0.1:6432`",
			}
		}
		settings = append(settings, setting{key: key, value: unquote(value), line: i + 1})
	}
	return settings, nil
}

func unquote(v string) string {
	if len(v) >= 2 && (v[0] == '"' || v[0] == '\'') && v[len(v)-1] == v[0] {
		return v[1 : len(v)-1]
	}
	return v
}
