package proxy

// stepName is the statement and portal of steps. It is none a client would choose; the unnamed ones
// are the client's.
const stepName = "_mbus4_step"

// inject returns the messages that run the step of m before the portal is executed for the first time, and
// notes them. run is done when the step has run.
//
// First comes a Describe of the portal: if it is not there, or the transaction has failed, that
// gives the error which the client's Execute would have given, and no step runs. The Close that
// follows removes what a step that failed may have left; nothing need be there to be closed.
func (f *clientFlow) inject(portal []byte, m *meaning, run *deed) []byte {
	step := m.step
	name := []byte(stepName + "\x00")
	ours := &about{plan: step}
	hide := func(kind replyKind, a *about) {
		f.late.sent(kind)
		f.news = append(f.news, owed{kind: kind, hidden: true, about: a})
	}
	out := appendFrame(nil, msgDescribe, []byte("P"), portal, []byte{0})
	hide(owedDescribe, &about{portal: nameKey(portal), ofPortal: true})
	out = appendFrame(out, msgClose, []byte("S"), name)
	hide(owedClose, ours)
	out = appendFrame(out, msgParse, name, []byte(step.SQL()), []byte{0, 0, 0})
	hide(owedParse, ours)
	out = appendFrame(out, msgBind, name, name, []byte{0, 0, 0, 0, 0, 0})
	hide(owedBind, ours)
	out = appendFrame(out, msgExecute, name, []byte{0, 0, 0, 0})
	hide(owedExecute, &about{plan: step, deeds: []*deed{run}})
	out = appendFrame(out, msgClose, []byte("S"), name)
	hide(owedClose, ours)
	out = appendFrame(out, msgClose, []byte("P"), name)
	hide(owedClose, ours)
	if m.again != nil {
		out = append(out, m.again...)
		hide(owedBind, ours)
	}
	return out
}
