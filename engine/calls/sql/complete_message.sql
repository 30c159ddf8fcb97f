-- A message that is not there is complete already.
{c}_d as (
    delete from mbus4.work_queue w using {c}_a a where w.id = a.message_id
),
{c} as (
    select a.n, ''::void as complete_message from {c}_a a
)
