-- A row of mbus4.message as its reader gets it. Each column has the type and the collation of that of mbus4.qt_model, so that of a row
-- whose columns only are read the planner leaves the columns. Row: the row, Queue: its queue.
row({{template "message_columns" .With "Row" .Row "Queue" .Queue}}{{if .JSON}}, {{template "payload" .With "Row" .Row}}{{end}})::mbus4.{{if .JSON}}json_message{{else}}qt_model{{end}}
