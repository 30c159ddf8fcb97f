-- The parts of a lease's name as an array, or the error that it is none. Null, which extend gives for a lease that is gone, is no lease that holds.
-- Lease: the name, Args: the arguments, whose n says which call it is.
case when {{.Lease}} is null then null
     when {{.Lease}} operator(pg_catalog.~) '^[0-9]{1,18}[.][0-9]{1,18}[.][0-9]{1,8}[.][0-9]{16}$' then pg_catalog.string_to_array({{.Lease}}, '.')
     else pg_catalog.format('mbus4-error {{.MarkOf .Args}} 22023 "%s" is not a lease', {{.Lease}})::int::text::text[] end
