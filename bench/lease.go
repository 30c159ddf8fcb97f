package main

import "context"

// leaseName is the cell of leases: a message is leased and acknowledged, each by a statement of its own.
const leaseName = "lease and ack/1/prepared/8"

// leases is the plain queue, and by hand a table of jobs that a worker takes for a while.
var leases = &workload{
	name: "leases",
	ours: plain.ours,
	hand: handWords("q_jobs", "data", plainValues, ""),
}

// leaseScripts are the two statements of each side. pgbench keeps the columns of the row of the first one, if there is a row.
var leaseScripts = map[string]string{
	proxyName: `select iid, data, attempt, lease from mbus4.lease('` + queueName + `', lease => '30 s') \aset
select mbus4.ack(:lease);`,
	bouncerName: `update q_jobs set available_at = clock_timestamp() + interval '30 s', attempt = attempt + 1
where ctid = (select ctid from q_jobs where available_at <= clock_timestamp() order by available_at, id limit 1 for update skip locked)
returning id, data, attempt \aset
delete from q_jobs where id = :id and attempt = :attempt returning true;`,
}

// leaseFixtures makes the table of jobs.
const leaseFixtures = `create table q_jobs (
		id           bigserial primary key,
		available_at timestamptz not null default clock_timestamp(),
		attempt      int not null default 0,
		data         hstore
	);
	create index on q_jobs (available_at, id)`

func (b *bench) leaseCells() []*cell {
	c := &cell{name: leaseName}
	for _, s := range b.sides(leases) {
		if leaseScripts[s.name] == "" {
			continue
		}
		x := &consumer{side: s, batch: 1, rate: firstRateOne / 4, script: leaseScripts[s.name]}
		c.arms = append(c.arms, arm{name: s.name, run: func(ctx context.Context) (sample, error) {
			return b.consume(ctx, x, "prepared", 8, b.opt.seconds)
		}})
	}
	return []*cell{c}
}
