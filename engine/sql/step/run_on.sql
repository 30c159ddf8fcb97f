-- Takes up to 100 messages and runs a statement for each, with the message for $1. What fails is undone
-- and its message goes to dmq, under its iid, so that who waits for it goes on waiting.
declare
    mbus4_message mbus4.qt_model;
    mbus4_done int := 0;
    mbus4_error text;
    mbus4_iid text;
begin
    for mbus4_message in {{.Consume}} loop
        mbus4_done := mbus4_done + 1;
        begin
            execute {{.Exec}} using mbus4_message;
        exception when others then
            get stacked diagnostics mbus4_error = message_text;
            mbus4_error := coalesce(pg_catalog.substring(mbus4_error, 'mbus4-error [0-9]+ [0-9A-Z]{5} (.*)"$'), mbus4_error);
            {{.Bury}};
        end;
    end loop;
    perform pg_catalog.set_config('mbus4.result_{{.Call}}', mbus4_done::text, true);
end
