-- What mbus4_admin may do itself; the rest it has as a member of mbus4_user.

grant usage on schema mbus4 to mbus4_admin;
grant select, insert, update, delete on mbus4.queue, mbus4.consumer to mbus4_admin;
grant delete on mbus4.unique_post to mbus4_admin;
grant insert on mbus4.view_insert to mbus4_admin;
grant select on mbus4.audit to mbus4_admin;
