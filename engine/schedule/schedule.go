package schedule

import (
	"fmt"
	"strings"
	"time"
	_ "time/tzdata" // so that names mean the same on machines that lack them

	"github.com/robfig/cron/v3"

	"mbusproxy/engine/refusal"
)

const (
	codeInvalidValue = "22023" // invalid_parameter_value

	// longestText bounds a cron text, and longestZone the name of a time zone, in bytes.
	longestText, longestZone = 256, 64
	// mostCounted is how many passed ticks are counted one by one, which takes some hundred milliseconds.
	mostCounted = 100_000

	cronHint = "Write minute hour day month weekday, for example 30 6 * * 1-5, with a field for seconds before them where that is wanted; " +
		"or @hourly, @daily, @weekly, @monthly, @yearly, @every 90s."
)

// fields are those that a text may have: see cronHint.
const fields = cron.SecondOptional | cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow | cron.Descriptor

// Schedule says when something is due. It is immutable.
type Schedule struct{ ticks cron.Schedule }

// Parse reads a cron text, in the time zone of that name of the IANA's. A refusal is a *refusal.Error.
func Parse(text, zone string) (Schedule, error) {
	location, err := readZone(zone)
	if err != nil {
		return Schedule{}, err
	}
	refused := func(why string) error {
		return &refusal.Error{Code: codeInvalidValue, Message: fmt.Sprintf("the schedule %q is refused: %s", shortened(text), why), Hint: cronHint}
	}
	if len(text) > longestText {
		return Schedule{}, refused(fmt.Sprintf("it is longer than %d bytes", longestText))
	}
	if strings.Contains(text, "=") { // the parser would read a time zone there
		return Schedule{}, &refusal.Error{Code: codeInvalidValue, Message: fmt.Sprintf("the schedule %q is refused: it names a time zone", text), Hint: "Give it as timezone => …"}
	}
	ticks, err := cron.NewParser(fields).Parse(text)
	if err != nil {
		return Schedule{}, refused(err.Error())
	}
	if s, ok := ticks.(*cron.SpecSchedule); ok {
		s.Location = location
	}
	if ticks.Next(time.Unix(0, 0)).IsZero() {
		return Schedule{}, refused("no day is like that")
	}
	return Schedule{ticks}, nil
}

// Check is as Parse, for a new schedule: it also refuses an @every whose time is not in whole
// seconds. Those that there are keep the pace that they have.
func Check(text, zone string) error {
	if _, err := Parse(text, zone); err != nil {
		return err
	}
	if span, ok := strings.CutPrefix(text, "@every "); ok {
		if every, err := time.ParseDuration(span); err != nil || every < time.Second || every%time.Second != 0 {
			return &refusal.Error{Code: codeInvalidValue, Message: fmt.Sprintf("the schedule %q is refused: @every takes whole seconds, one at least", text), Hint: cronHint}
		}
	}
	return nil
}

func readZone(name string) (*time.Location, error) {
	var location *time.Location
	var err error
	if name != "" && name != "Local" && len(name) <= longestZone { // "Local" is the proxy's
		location, err = time.LoadLocation(name)
	}
	if location == nil || err != nil {
		return nil, &refusal.Error{
			Code:    codeInvalidValue,
			Message: fmt.Sprintf("the time zone %q is not known", shortened(name)),
			Hint:    "Name it as in UTC or Europe/Berlin.",
		}
	}
	return location, nil
}

func shortened(text string) string {
	if len(text) > longestText {
		return strings.ToValidUTF8(text[:longestText], "") + "…"
	}
	return text
}

// After gives the first tick after a time, in UTC; false where there is none.
func (s Schedule) After(t time.Time) (time.Time, bool) {
	next := s.ticks.Next(t)
	return next.UTC(), !next.IsZero()
}

// Latest gives the last tick that is not after now, beginning with one that is due, and how many
// have passed before it. Beyond mostCounted they are not counted.
func (s Schedule) Latest(due, now time.Time) (latest time.Time, before int64) {
	if every, ok := s.ticks.(cron.ConstantDelaySchedule); ok {
		before = max(0, int64(now.Sub(due)/every.Delay))
		return due.Add(time.Duration(before) * every.Delay), before
	}
	latest = due
	for {
		next, ok := s.After(latest)
		if !ok || next.After(now) {
			return latest, before
		}
		latest, before = next, before+1
		if before == mostCounted {
			latest = s.jump(latest, now)
		}
	}
}

// jump gives a tick that is not after now and has few between: the first one in the shortest time
// before now, of those that double, that has any.
func (s Schedule) jump(from, now time.Time) time.Time {
	for back := time.Minute; back < now.Sub(from); back *= 2 {
		if t, ok := s.After(now.Add(-back)); ok && !t.After(now) {
			return t
		}
	}
	return from
}
