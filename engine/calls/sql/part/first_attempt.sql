-- The headers of a message that had none at which the first attempt begins. Time: the time as a text.
{{.Hstore}}.hstore(array['retry.first', {{.Time}}, 'retry.attempt', '1', 'retry.last', {{.Time}}])
