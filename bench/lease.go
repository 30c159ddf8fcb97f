package main

// leaseName is the cell of leases: a message is leased and acknowledged, each by a statement of its own.
const leaseName = "lease and ack/1/prepared/8"

// leases is the plain queue, and by hand a table of jobs that a worker takes for a while.
var leases = &workload{
	name: "leases",
	ours: plain.ours,
	hand: handWords("q_jobs", "data", plainValues, ""),
}

// leaseStatements are the two of each side. The columns of the first one's row that the second one
// gets are at those places.
var leaseStatements = map[string]struct {
	take, settle string
	gets         []int
}{
	proxyName: {
		take:   "select iid, data, attempt, lease from mbus4.lease('" + queueName + "', lease => '30 s')",
		settle: "select mbus4.ack($1)",
		gets:   []int{3},
	},
	bouncerName: {
		take: `update q_jobs set available_at = clock_timestamp() + interval '30 s', attempt = attempt + 1
where ctid = (select ctid from q_jobs where available_at <= clock_timestamp() order by available_at, id limit 1 for update skip locked)
returning id, data, attempt`,
		settle: "delete from q_jobs where id = $1 and attempt = $2 returning true",
		gets:   []int{0, 2},
	},
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
		if _, ok := leaseStatements[s.name]; ok {
			c.turns = append(c.turns, turn{name: s.name, path: s.path, clients: 8, stock: &stock{side: s}, say: leasing(s.name)})
		}
	}
	return []*cell{c}
}

// leasing leases a message and settles it.
func leasing(side string) conversation {
	return func(s *session) (func() error, error) {
		words := leaseStatements[side]
		take, err := newRequest(s, preparedMode, "take", words.take)
		if err != nil {
			return nil, err
		}
		settle, err := newRequest(s, preparedMode, "settle", words.settle)
		return func() error {
			if err := take.run(); err != nil {
				return err
			}
			var parameters []string
			for _, column := range words.gets {
				parameters = append(parameters, string(s.row[column]))
			}
			return settle.run(parameters...)
		}, err
	}
}
