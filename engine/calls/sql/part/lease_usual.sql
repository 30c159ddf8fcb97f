-- How long a lease of a consumer lasts that does not say it, read only when it is wanted. ID: the consumer's.
(select {{template "policy" .With "Row" "c" "What" "lease"}} from mbus4.consumer c where c.id = {{.ID}})
