(select exists (select from mbus4.undelivered(a.msgid)) as {name} from (select {msgid} as msgid) a)
