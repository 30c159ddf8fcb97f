package pipeline

import (
	"mbusproxy/proxy/pipeline/names"
	"mbusproxy/proxy/pipeline/requests"
	"mbusproxy/proxy/statements"
	"mbusproxy/proxy/wire"
)

// What is sent for a statement that waits.

// poseWait returns the messages of the wait's probe query, and notes them. Where that fails in a
// Query's stead, it takes the client's unnamed statement away as the Query would have.
func (f *ClientFlow) poseWait(frame []byte) (messages []byte) {
	if frame[0] == wire.MsgQuery {
		messages = f.closeUnnamed(nil)
		return append(messages, f.poseWaitAs(behindOpen)...)
	}
	return f.poseWaitAs(unsynced)
}

func (f *ClientFlow) poseWaitAs(as posing) (messages []byte) {
	plan := f.waiting.wait.Probe()
	prepares := f.waiting.wait.Prepares() && !f.prepared.off
	f.prepared.ask = f.prepared.ask || prepares && !f.prepared.certain
	if !prepares || !f.prepared.certain || !f.knowsPrepared() {
		return f.posePlan(plan.SQL(), plan, as)
	}
	p := &probe{Outcome: requests.NewOutcome(), forQuery: as == behindOpen}
	f.probing.underWay = p
	ours, answered := &details{plan: plan, prepared: true}, &details{Use: names.Use{Portal: f.ownName()}, plan: plan, probe: p}
	if !f.before.block && !f.waiting.ran {
		ours.lost = p
	}
	if as == behindOpen {
		answered.errorTo, ours.errorTo = p, p
	}
	return f.runPreparedProbe(plan.SQL(), ours, answered)
}

// runPreparedProbe returns the messages that run a probe query by a statement that is prepared for
// it, and notes them: answered are the details of the Execute, ours those of the others.
func (f *ClientFlow) runPreparedProbe(sql string, ours, answered *details) (out []byte) {
	portal, name := []byte(f.ownName()+"\x00"), []byte(f.ownName()+"_w\x00")
	if f.prepared.probe != sql {
		out = f.parseHidden(out, name, sql, noTypes, ours)
		f.prepared.probe = sql
		f.ours.add()
	}
	out = f.executeHidden(out, portal, name, ours, answered)
	out = wire.AppendFrame(out, wire.MsgClose, []byte("P"), portal)
	f.pushHidden(requests.Close, ours)
	return wire.AppendFrame(out, wire.MsgFlush)
}

// runAwaited notes a Query whose wait is over, and returns what takes its place: messages that end
// with a Sync. Behind those of the look a Query would leave the transaction open on servers from 18
// on. The client sees the replies to a Query.
func (f *ClientFlow) runAwaited(plan statements.Plan) []byte {
	if able, ok := plan.(statements.Preparable); ok && f.prepared.certain && f.knowsPrepared() {
		if prepared := able.Prepared(); prepared != nil {
			if known := f.prepared.look(prepared.ID()); known != nil {
				ours := &details{plan: prepared, prepared: true, trace: traceQuery(plan)}
				out := f.prepare(f.closeUnnamed(ours), known, noTypes, ours)
				return f.runAsQuery(out, f.preparedName(known.slot), wire.TextValues(prepared.Values()), ours)
			}
		}
	}
	ours := &details{plan: plan, prepared: true, asQuery: true, trace: traceQuery(plan)}
	name := []byte(f.ownName() + "\x00")
	out := f.parseHidden(f.closeUnnamed(ours), name, plan.SQL(), noTypes, ours)
	return f.runAsQuery(out, name, wire.TextValues(nil), ours)
}

// endLook returns the Sync that ends the transaction of a probe query, where it is one of its own,
// and notes it. The next feed begins when it has been answered.
func (f *ClientFlow) endLook() (messages []byte) {
	f.awaited = requests.NewOutcome()
	f.pushHidden(requests.Sync, &details{synced: f.awaited})
	f.probing.unsynced = false
	return wire.AppendFrame(nil, wire.MsgSync)
}
