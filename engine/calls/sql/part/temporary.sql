-- Whether a queue that is not there may have been a temporary one: whoever replies to it must not fail, and what is posted is
-- discarded. An error where the statement has just created it. Queue: the name, Args: the arguments, whose n says which call it is.
({{.Queue}} operator(pg_catalog.~) '^temp[.][0-9a-f]{32}[.][0-9]+$' and mbus4.is_gone({{.Queue}}, '{{.MarkOf .Args}}'))
