package selector

import (
	"testing"
	"time"
)

// BenchmarkConditions measures what one evaluation takes on the server, of the text as it is and of its
// Condition, less what reading a row takes.
func BenchmarkConditions(b *testing.B) {
	conn := newDatabase(b, "")
	ctx := b.Context()
	if _, err := conn.Exec(ctx, `insert into message select i, i, '2024-05-06', 'm' || i, null, null, '{1,2}', 'kind=>x', 'STATE=>DONE, p=>1, priority=>7',
		hstore(array['n', (i % 1000)::text, 'm', '3', 'who', 'bob', 'price', '12.50', 'when', '2024-05-06T07:08:09', 'flag', 'true']) from generate_series(1, 20000) i;
		set jit = off; set max_parallel_workers_per_gather = 0; analyze message`); err != nil {
		b.Fatal(err)
	}
	for _, text := range []string{
		"true", "(t.properties->'STATE')='DONE'", "t.properties->'STATE'='DONE' and t.data->'n' = '5'", "t.properties @> 'p=>1'", "t.iid like 'm1%'", "t.iid ~ '^m[0-9]+$'",
		"lower(t.data->'who') = 'bob'", "(t.properties->'priority')::int > 5", "(t.data->'n')::int % 2 = 1", "(t.data->'n')::bigint > 5", "(t.data->'price')::numeric > 10",
		"(t.data->'n')::int > 5 and (t.data->'m')::int < 9", "(t.data->'n')::int + (t.data->'m')::int < 10", "coalesce((t.data->'n')::int, 0) = 0",
		"(t.data->'flag')::bool", "(t.data->'when')::timestamp > '2024-01-01'",
	} {
		b.Run(text, func(b *testing.B) {
			s, err := Compile(text, testEnv)
			if err != nil {
				b.Fatal(err)
			}
			measure := func(condition string) float64 {
				best := time.Hour
				for range 5 {
					start := time.Now()
					var n int
					if err := conn.QueryRow(ctx, "select count("+condition+") from message t").Scan(&n); err != nil {
						b.Fatal(err)
					}
					best = min(best, time.Since(start))
				}
				return float64(best.Nanoseconds()) / 20000
			}
			var row, plain, ours float64
			for b.Loop() {
				row, plain, ours = measure("t.id"), measure("case when "+text+" then 1 else 0 end"), measure(s.Condition)
			}
			b.ReportMetric(max(plain-row, 0), "plain-ns")
			b.ReportMetric(max(ours-row, 0), "ours-ns")
			b.ReportMetric(float64(len(s.Condition)), "bytes")
			b.ReportMetric(0, "ns/op")
		})
	}
}
