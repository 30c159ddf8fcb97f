package schedule_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"mbusproxy/engine/refusal"
	"mbusproxy/engine/schedule"
)

func at(t *testing.T, text string) time.Time {
	t.Helper()
	out, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// The ticks of a schedule, also where clocks are changed: a time that a day does not have is left
// out, one that it has twice comes twice.
func TestTicks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ cron, zone, after, want string }{
		{"* * * * *", "UTC", "2026-03-01T12:00:00Z", "03-01T12:01:00 03-01T12:02:00"},
		{"*/20 * * * * *", "UTC", "2026-03-01T12:00:05Z", "03-01T12:00:20 03-01T12:00:40 03-01T12:01:00"},
		{"30 6 * * 1-5", "UTC", "2026-03-06T12:00:00Z", "03-09T06:30:00 03-10T06:30:00"},
		{"@hourly", "UTC", "2026-03-01T12:00:00Z", "03-01T13:00:00 03-01T14:00:00"},
		{"@every 90s", "UTC", "2026-03-01T12:00:00.7Z", "03-01T12:01:30 03-01T12:03:00"},
		{"0 9 * * *", "Europe/Berlin", "2026-03-27T12:00:00Z", "03-28T08:00:00 03-29T07:00:00 03-30T07:00:00"},
		{"30 2 * * *", "Europe/Berlin", "2026-03-27T12:00:00Z", "03-28T01:30:00 03-30T00:30:00"},                // the 29th has no 2:30
		{"30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", "10-25T00:30:00 10-25T01:30:00 10-26T01:30:00"}, // the 25th has two
		{"@every 1h", "Europe/Berlin", "2026-03-29T00:00:00Z", "03-29T01:00:00 03-29T02:00:00"},
		{"0 0 29 2 *", "UTC", "2026-03-01T00:00:00Z", "02-29T00:00:00"},
	} {
		s, err := schedule.Parse(c.cron, c.zone)
		if err != nil {
			t.Errorf("%s: %v", c.cron, err)
			continue
		}
		next := at(t, c.after)
		for _, want := range strings.Fields(c.want) {
			var ok bool
			if next, ok = s.After(next); !ok || next.Format("01-02T15:04:05") != want {
				t.Errorf("%s in %s: %v, want %s", c.cron, c.zone, next, want)
			}
		}
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ cron, zone, says string }{
		{"", "UTC", "empty"},
		{"* * * *", "UTC", "fields"},
		{"* * * * * * *", "UTC", "fields"},
		{"61 * * * *", "UTC", "above maximum"},
		{"*/0 * * * *", "UTC", "step"},
		{"x * * * *", "UTC", "x"},
		{"@reboot", "UTC", "@reboot"},
		{"@every x", "UTC", "duration"},
		{"0 0 31 2 *", "UTC", "no day is like that"},
		{"TZ=", "UTC", "names a time zone"},
		{"CRON_TZ=Asia/Tokyo 0 5 * * *", "UTC", "names a time zone"},
		{strings.Repeat("1,", 200) + "1 * * * *", "UTC", "longer than 256 bytes"},
		{"* * * * *", "", "time zone \"\" is not known"},
		{"* * * * *", "Local", "is not known"},
		{"* * * * *", "../../etc/passwd", "is not known"},
		{"* * * * *", "Europe/Nowhere", "is not known"},
		{"* * * * *", strings.Repeat("A", 1e6), "is not known"},
	} {
		var e *refusal.Error
		if _, err := schedule.Parse(c.cron, c.zone); !errors.As(err, &e) || e.Code != "22023" || !strings.Contains(e.Message, c.says) || e.Hint == "" || len(e.Message) > 600 {
			t.Errorf("%.50s: %v", c.cron, err)
		}
	}
}

// A new schedule does not get another pace than it says.
func TestCheck(t *testing.T) {
	t.Parallel()
	for cron, says := range map[string]string{"@every 0s": "whole seconds", "@every 500ms": "whole seconds", "@every -1h": "whole seconds", "@every 1.5s": "whole seconds", "@every 90s": "", "@every 1h30m": "", "@daily": "", "0 0 * * x": "x"} {
		var e *refusal.Error
		if err := schedule.Check(cron, "UTC"); (err != nil) != (says != "") || err != nil && (!errors.As(err, &e) || e.Code != "22023" || !strings.Contains(e.Message, says)) {
			t.Errorf("%s: %v", cron, err)
		}
	}
}

// Of the ticks that have passed the last is found, however many there are.
func TestLatest(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		cron, due, now, latest string
		before                 int64
	}{
		{"* * * * *", "2026-03-01T12:00:00Z", "2026-03-01T12:00:59Z", "2026-03-01T12:00:00Z", 0},
		{"* * * * *", "2026-03-01T12:00:00Z", "2026-03-01T12:07:00Z", "2026-03-01T12:07:00Z", 7},
		{"0 4 1 * *", "2024-01-01T04:00:00Z", "2026-03-05T00:00:00Z", "2026-03-01T04:00:00Z", 26},
		{"@every 1s", "2020-01-01T00:00:00Z", "2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z", 189388800},
		{"@every 1h", "2026-03-01T12:00:00Z", "2026-03-01T11:00:00Z", "2026-03-01T12:00:00Z", 0},
		{"* * * * * *", "2020-01-01T00:00:00Z", "2026-01-01T00:00:30Z", "2026-01-01T00:00:30Z", 100_059},
	} {
		s, err := schedule.Parse(c.cron, "UTC")
		if err != nil {
			t.Fatal(err)
		}
		if latest, before := s.Latest(at(t, c.due), at(t, c.now)); !latest.Equal(at(t, c.latest)) || before != c.before {
			t.Errorf("%s from %s to %s: %v, %d before", c.cron, c.due, c.now, latest, before)
		}
	}
}
