-- Whether a text is a lease's name as nearly all are: no longer than 39 bytes, of digits and three points, with digits between these and 16 behind
-- them. No part can have more than 18. Lease: the text.
pg_catalog.octet_length({{.Lease}}) <= 39 and {{.Lease}} operator(pg_catalog.~~) '_%._%._%.________________'
          and pg_catalog.translate({{.Lease}}, '0123456789', '') operator(pg_catalog.=) '...'
