package plan

// procedure reports whether the statement with that number calls a procedure.
func (p *Plan) procedure(stmt int) bool {
	for _, s := range p.preludes {
		if s.stmt == stmt && s.fn.Procedure {
			return true
		}
	}
	return false
}

// Tag is the command tag that the client expects, where the server gives that of a prelude statement instead; "" where
// the server's is right.
func (p *Plan) Tag() string { return p.tag }

// EndsTransaction reports whether a prelude statement may end the transaction, and with it all portals.
func (p *Plan) EndsTransaction() bool {
	for _, s := range p.preludes {
		if s.fn.Procedure {
			return true
		}
	}
	return false
}
