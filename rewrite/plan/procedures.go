package plan

// procedure reports whether the statement calls one.
func (p *Plan) procedure(stmt int) bool {
	for _, s := range p.preludes {
		if s.stmt == stmt && s.fn.Procedure {
			return true
		}
	}
	return false
}

// Tag is the command tag that the client expects of the plan's text where the server gives that of a
// step; "" where the server's is right.
func (p *Plan) Tag() string { return p.tag }

// EndsTransaction reports whether a step of the plan may end the transaction, and with it all portals.
func (p *Plan) EndsTransaction() bool {
	for _, s := range p.preludes {
		if s.fn.Procedure {
			return true
		}
	}
	return false
}
