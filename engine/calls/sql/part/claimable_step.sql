-- The first rows in the order of those that meet a condition and are not locked, one step of claimable. Limit: how many. Where: the condition.
select s.tid
from (
    select w.ctid as tid
    from mbus4.work_queue w
    where w.process_id is null and {{.Where}}
    order by w.next_attempt_at, w.id
    limit {{.Limit}}
    for update skip locked
) s
