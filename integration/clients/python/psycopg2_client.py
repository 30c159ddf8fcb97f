"""usage: psycopg2_client.py ordinary|queue HOST PORT DATABASE

Prints one line per finding; the Go tests compare them.
"""

import io
import re
import select
import sys
import threading
from datetime import datetime, timedelta

import psycopg2
import psycopg2.extras

MODE, HOST, PORT, DATABASE = sys.argv[1:]


def connect():
    return psycopg2.connect(host=HOST, port=PORT, dbname=DATABASE, user="postgres")


def code_of(conn, sql, values):
    """Runs sql in a transaction of its own and gives the SQLSTATE it ends with."""
    try:
        with conn, conn.cursor() as cur:
            cur.execute(sql, values)
    except psycopg2.Error as err:
        return err.pgcode
    return "none"


def queue():
    conn = connect()
    cur = conn.cursor()

    def one(sql, values=None):
        cur.execute(sql, values)
        return cur.fetchone()

    one("select mbus4.create_queue('orders', 4)")
    conn.commit()
    print("created")
    psycopg2.extras.register_hstore(conn)  # the type exists from now on

    hour = datetime.utcnow() + timedelta(hours=1)
    (iid,) = one(
        "select mbus4.post(%s, %s, %s, %s, %s, %s, %s)",
        ("orders", {"sku": "A1"}, {"trace": "t1"}, {"kind": "new"}, None, hour, "first"),
    )
    conn.commit()
    print("posted", iid)
    (iid,) = one(
        "select mbus4.post_orders(data => %(data)s, delayed_until => %(at)s, msgiid => %(iid)s)",
        {"data": {"sku": "B2"}, "at": hour, "iid": "later"},
    )
    conn.commit()
    print("posted", iid)
    (generated,) = one("select mbus4.get_iid('orders')")
    assert re.fullmatch(rf"orders\.{DATABASE}\.\d+", generated), generated
    assert one("select mbus4.post_orders(%s, iid := %s)", ({"sku": "C3"}, generated)) == (generated,)
    conn.commit()
    print("generated ok")

    def consume():
        cur.execute("select * from mbus4.consume('orders')")
        names = [c.name for c in cur.description]
        assert names == ["id", "added", "iid", "delayed_until", "expires", "received", "headers",
                         "properties", "data"], names
        row = cur.fetchone()
        return row and dict(zip(names, row))

    def shown(m):
        return f"consumed {m['iid']} {m['data']['sku']} {m['properties']['kind']} {m['headers']['trace']}"

    m = consume()
    assert isinstance(m["added"], datetime) and m["added"].tzinfo is None
    assert m["expires"] == hour, m
    print(shown(m))
    conn.rollback()
    print("rolled back")
    print(shown(consume()))
    conn.commit()
    print("committed")
    assert one("select (mbus4.consume('orders')).iid") == (generated,)
    conn.commit()
    print("consumed generated")
    print("empty" if consume() is None else "not empty")
    conn.commit()
    print("exists", str(one("select mbus4.is_msg_exists(%s)", ("later",))[0]).lower())
    print("took", one("select iid from mbus4.take(%s)", ("later",))[0])
    conn.commit()
    print("error", code_of(conn, "select mbus4.post('nowhere', %s)", ({"a": "1"},)))
    print("posted", one("select mbus4.post('orders', 'a=>1', iid => 'dup')")[0])
    conn.commit()
    print("error", code_of(conn, "select mbus4.post('orders', 'a=>1', iid => %s)", ("dup",)))
    cur.execute("select iid from mbus4.consumen('orders', 'default', 100)")
    print("left", *[iid for (iid,) in cur])
    conn.commit()

    # A server-side cursor is a DECLARE CURSOR: what is not fetched is not posted.
    with conn, conn.cursor("named") as named:
        named.execute("select mbus4.post('orders', 'a=>1', iid => 'c' || g) from generate_series(1, 9) g")
        assert named.fetchmany(2) == [("c1",), ("c2",)]
    with conn, conn.cursor("named") as named:
        named.execute("select iid from mbus4.consumen('orders', amt => 9)")
        assert named.fetchall() == [("c1",), ("c2",)]
    with conn, conn.cursor() as after:
        after.execute("select 1")


def ordinary():
    conn = connect()
    cur = conn.cursor()

    def show(name, sql, values=None):
        """Runs sql in a transaction of its own and prints what the client can see of it."""
        try:
            cur.execute(sql, values)
            columns = cur.description and [(c.name, c.type_code) for c in cur.description]
            rows = cur.fetchall() if cur.description else None
            print(name, cur.statusmessage, columns, [
                [bytes(v) if isinstance(v, memoryview) else v for v in row] for row in rows or []])
            conn.commit()
        except psycopg2.Error as err:
            print(name, err.pgcode, err.diag.statement_position, repr(err.pgerror))
            conn.rollback()

    show("ddl", "create table item (id int primary key, name text, tags text[], doc jsonb, at timestamptz, raw bytea)")
    show("insert", "insert into item values (%s, %s, %s, %s, %s, %s) returning *",
         (1, "one", ["a", None, "b,c"], psycopg2.extras.Json({"k": [1, 2]}), "2026-01-02 03:04:05+00", b"\0\xff'"))
    show("nulls", "insert into item(id) values (%s) returning *", (2,))
    show("join", "select a.id, b.name from item a left join item b on a.id = b.id + %s order by 1", (1,))
    show("duplicate", "insert into item(id) values (1)")
    show("syntax", "select 1 +")
    show("column", "select id,\n  nosuch from item")
    show("several", "select 1; update item set name = 'two' where id = 2; select 'x' as b")
    show("prepare", "prepare by_id(int) as select name from item where id = $1")
    show("execute", "execute by_id(2)")
    show("declare", "select 1")
    psycopg2.extras.execute_values(cur, "insert into item(id, name) values %s",
                                   [(i, f"name {i}") for i in range(10, 1010)])
    conn.commit()
    show("values", "select count(*), max(name) from item")

    rows = "".join(f"{i}\tname {i}\n" for i in range(2000, 7000))
    cur.copy_expert("copy item(id, name) from stdin", io.StringIO(rows))
    print("copied in", cur.rowcount)
    out = io.StringIO()
    cur.copy_expert("copy (select * from item order by id) to stdout csv", out)
    print("copied out", len(out.getvalue()), hash_of(out.getvalue()))
    conn.commit()
    try:
        cur.copy_expert("copy item(id, name) from stdin", io.StringIO("x\ty\n"))
    except psycopg2.Error as err:
        print("copy fails", err.pgcode, err.diag.context)
        conn.rollback()

    cur.execute("select n, repeat('x', 100) from generate_series(1, 50000) n")
    print("large", sum(n + len(pad) for n, pad in cur))
    with conn.cursor("named") as named:  # a server-side cursor
        named.itersize = 700
        named.execute("select n from generate_series(1, 2500) n")
        print("cursor", sum(n for (n,) in named))
    conn.commit()

    cancel_slow_statement(conn, show)

    conn.notices.clear()
    show("notice", "do $$ begin raise notice 'seen %', 1; end $$")
    print("notices", conn.notices)
    show("listen", "listen news")
    show("notify", "select pg_notify('news', 'hello')")
    conn.poll()
    if not conn.notifies:  # it came with the commit's reply, or it is on its way
        select.select([conn], [], [], 20)
        conn.poll()
    print("heard", [(n.channel, n.payload) for n in conn.notifies])

    cur.execute("savepoint s")
    try:
        cur.execute("select 1/0")
    except psycopg2.Error as err:
        print("in transaction", err.pgcode, conn.get_transaction_status())
    cur.execute("rollback to savepoint s")
    show("after savepoint", "select 'fine'")
    conn.set_client_encoding("LATIN1")
    show("latin1", "select %s || chr(233), length(%s)", ("é", "é"))


def cancel_slow_statement(conn, show):
    """Cancels as soon as the server is seen to be at it."""
    watcher = connect()
    watcher.autocommit = True
    pid = conn.get_backend_pid()

    def cancel():
        with watcher.cursor() as cur:
            for _ in range(2000):
                cur.execute("select 1 from pg_stat_activity where pid = %s and state = 'active'"
                            " and query like '%%pg_sleep(60)%%'", (pid,))
                if cur.rowcount:
                    conn.cancel()
                    return

    thread = threading.Thread(target=cancel)
    thread.start()
    show("cancelled", "select pg_sleep(60)")
    thread.join()
    watcher.close()


def hash_of(text):
    import hashlib
    return hashlib.sha256(text.encode()).hexdigest()[:12]


{"ordinary": ordinary, "queue": queue}[MODE]()
