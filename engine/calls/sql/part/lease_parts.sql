-- The parts of a lease's name as an array, or the error that it is none. Null, which extend gives for a lease that is gone, is no lease that holds.
-- What has not the form of nearly all is looked at by a function, whose regular expression costs ten times as much. Lease: the name, Args: the
-- arguments, whose n says which call it is.
case when {{.Lease}} is null then null
     when {{template "lease_form" .With "Lease" .Lease}} then pg_catalog.string_to_array({{.Lease}}, '.')
     else {{.PartsOfLease}}('{{.MarkOf .Args}}', {{.Lease}}) end
