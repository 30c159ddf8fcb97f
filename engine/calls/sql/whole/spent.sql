-- Moves a message that is there to dmq: its attempts are used up, or who has a lease on it gives it up. False where it is not there, or somebody else
-- holds it. error is null where none is known. call is the call's mark.
create or replace function {{.Signature}} returns boolean language plpgsql volatile
set plan_cache_mode = force_generic_plan set jit = off
as $mbus4$
#variable_conflict use_column
declare
    mbus4_queue text;
    mbus4_consumer text;
    mbus4_message mbus4.qt_model;
begin
    select c.qname, c.name into mbus4_queue, mbus4_consumer from mbus4.consumer c where c.id = $2;
    if mbus4_queue is null then
        return false;
    end if;
    delete from mbus4.message m
    where m.ctid = (select x.ctid from mbus4.message x where x.consumer_id = $2 and x.available_at = $3 and x.id = $4 for update skip locked)
    returning {{template "message_columns" .With "Row" "m" "Queue" "mbus4_queue"}} into mbus4_message;
    if not found then
        return false;
    end if;
    perform {{.Bury}}($1, mbus4_message, mbus4_consumer, coalesce($5, mbus4_message.headers operator({{.Hstore}}.->) 'retry.error'::text, 'lease ended'));
    return true;
end
$mbus4$
