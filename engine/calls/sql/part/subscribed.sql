-- Who gets a message: the consumers of its queue if they get everything, else whoever Late says. It may be null.
case when {{template "everybody" .}} then w.consumers else {{.Late}} end
