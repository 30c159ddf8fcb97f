-- Whether a text is a lease's name, or the error that it is none; null is not. Lease: the name, Args: the arguments, whose n says which call it is. See
-- lease_parts.sql.
case when {{template "lease_form" .With "Lease" .Lease}} then true
     when {{.Lease}} is null then false
     else {{.PartsOfLease}}('{{.MarkOf .Args}}', {{.Lease}}) is not null end
