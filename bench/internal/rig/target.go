package rig

// Target is one line of a table of targets.
type Target struct {
	What, Wanted, Figure string
	State                string // reached, MISSED, INVALID, not measured, too few rounds
}

// Verdict is the State of what was measured.
func Verdict(reached bool) string {
	if reached {
		return "reached"
	}
	return "**MISSED**"
}
