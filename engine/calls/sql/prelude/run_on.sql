-- Takes up to 100 messages and runs a statement for each, with the message for $1. What fails is undone
-- and its message goes to dmq, under its iid, so that who waits for it goes on waiting; or, where the consumer has a policy for
-- attempts, comes again later. What succeeds is counted. A statement that is null fails for every message.
--
-- Where it fails for the first message, that may be its own fault: all that was taken is put back, and only that message is taken again.
--
-- A statement also fails by what deferred constraints find wrong with it: they are checked behind each, and
-- that is undone, for it is the only way to leave them as deferred as they were. Where they found something
-- before the first message, no message is to blame, and they are left to the commit.
declare
    mbus4_text pg_catalog.text;
    mbus4_message mbus4.qt_model;
    mbus4_done int := 0;
    mbus4_error pg_catalog.text;
    mbus4_stopped boolean := false;
    mbus4_retries constant boolean := exists (select from mbus4.consumer c where c.qname = {{.Queue}} and c.name = 'default' and c.max_attempts is not null and c.id <> 1);
    mbus4_iid pg_catalog.text;
    mbus4_checked boolean := exists (select from pg_catalog.pg_trigger t where t.tgdeferrable);
    mbus4_sound boolean;
begin
    {{.Text}}
    if mbus4_checked then
        begin
            mbus4_checked := false;
            set constraints all immediate;
            mbus4_checked := true;
            raise exception 'undone';
        exception when others or assert_failure then
            null;
        end;
    end if;
    begin
        for mbus4_message in {{.Consume}} loop
            begin
                execute mbus4_text using mbus4_message;
                if mbus4_checked then
                    begin
                        mbus4_sound := false;
                        set constraints all immediate;
                        mbus4_sound := true;
                        raise exception 'undone';
                    exception when others or assert_failure then
                        if not mbus4_sound then
                            raise;
                        end if;
                    end;
                end if;
                mbus4_done := mbus4_done + 1;
            exception when others or assert_failure then
                get stacked diagnostics mbus4_error = message_text;
                mbus4_error := coalesce(pg_catalog.substring(mbus4_error, {{.Error}}), mbus4_error);
            end;
            if mbus4_error is not null then
                mbus4_stopped := mbus4_done = 0;
                if mbus4_stopped then
                    raise exception 'undone';
                elsif mbus4_retries then
                    perform {{.Retry}};
                else
                    {{.Bury}};
                end if;
                mbus4_error := null;
            end if;
        end loop;
    exception when others then
        if not mbus4_stopped then
            raise;
        end if;
    end;
    if mbus4_stopped then
        {{.Take}};
        if mbus4_message.iid is null then
            null; -- somebody else has it now
        elsif mbus4_retries then
            perform {{.Retry}};
        else
            {{.Bury}};
        end if;
    end if;
    perform pg_catalog.set_config('mbus4.result_{{.Call}}', mbus4_done::pg_catalog.text, true);
end
