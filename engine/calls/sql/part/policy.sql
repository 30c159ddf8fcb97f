-- The policy of a consumer, as its owner set it with alter_consumer or as suits most: how many attempts, how long the pause after the first, which
-- doubles, how long at most, which share of it is left to chance, and how long a lease. Row: the row of the consumer, What: max_attempts,
-- backoff, max_backoff, jitter or lease.
{{- if eq .What "max_attempts"}}coalesce({{.Row}}.max_attempts, 10)
{{- else if eq .What "backoff"}}coalesce({{.Row}}.backoff, interval '1 second')
{{- else if eq .What "max_backoff"}}coalesce({{.Row}}.max_backoff, interval '1 hour')
{{- else if eq .What "jitter"}}coalesce({{.Row}}.jitter, 0.1)
{{- else if eq .What "lease"}}coalesce({{.Row}}.lease, interval '30 seconds')
{{- end}}
