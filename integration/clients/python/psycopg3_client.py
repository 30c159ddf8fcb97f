"""usage: psycopg3_client.py ordinary|queue HOST PORT DATABASE

Prints one line per finding; the Go tests compare them.
"""

import asyncio
import hashlib
import logging
import re
import sys
import threading
from datetime import datetime, timedelta

import psycopg
from psycopg.rows import dict_row
from psycopg.types.hstore import register_hstore
from psycopg.types.json import Jsonb
from psycopg.types import TypeInfo

MODE, HOST, PORT, DATABASE = sys.argv[1:]
logging.getLogger("psycopg").setLevel(logging.CRITICAL)  # its warnings name ports
CONNINFO = f"host={HOST} port={PORT} dbname={DATABASE} user=postgres"


def code_of(conn, sql, values=None):
    """Runs sql in a transaction of its own and gives the SQLSTATE it ends with."""
    try:
        with conn.transaction():
            conn.execute(sql, values)
    except psycopg.Error as err:
        return err.sqlstate
    return "none"


def queue():
    conn = psycopg.connect(CONNINFO, row_factory=dict_row)
    conn.execute("select mbus4.create_queue('orders', 4)")
    conn.commit()
    print("created")
    register_hstore(TypeInfo.fetch(conn, "hstore"), conn)  # the type exists from now on

    hour = datetime.utcnow() + timedelta(hours=1)
    row = conn.execute(
        "select mbus4.post(%s, %s, %s, %s, %s, %s, %s) as iid",
        ("orders", {"sku": "A1"}, {"trace": "t1"}, {"kind": "new"}, None, hour, "first"),
    ).fetchone()
    conn.commit()
    print("posted", row["iid"])
    row = conn.execute(
        "select mbus4.post_orders(data => %(data)s, delayed_until => %(at)s, iid => %(iid)s) as iid",
        {"data": {"sku": "B2"}, "at": hour, "iid": "later"}, prepare=True, binary=True,
    ).fetchone()
    conn.commit()
    print("posted", row["iid"])
    with conn.pipeline():
        cur = conn.execute("select mbus4.get_iid('orders') as iid")
        generated = cur.fetchone()["iid"]
        assert re.fullmatch(rf"orders\.{DATABASE}\.\d+", generated), generated
        posted = [conn.execute("select mbus4.post_orders(%s, iid => %s) as iid", ({"sku": "C3"}, generated), prepare=True),
                  conn.execute("select 1 as one"),
                  conn.execute("select mbus4.is_msg_exists(%s) as there", (generated,), binary=True)]
        assert [c.fetchone() for c in posted] == [{"iid": generated}, {"one": 1}, {"there": True}]
    conn.commit()
    print("generated ok")

    def consume(**options):
        cur = conn.execute("select * from mbus4.consume(%s)", ("orders",), **options)
        assert [c.name for c in cur.description] == ["id", "added", "iid", "delayed_until", "expires", "received",
                                                     "headers", "properties", "data"]
        return cur.fetchone()

    def shown(m):
        return f"consumed {m['iid']} {m['data']['sku']} {m['properties']['kind']} {m['headers']['trace']}"

    m = consume(prepare=True)
    assert isinstance(m["added"], datetime) and m["expires"] == hour, m
    print(shown(m))
    conn.rollback()
    print("rolled back")
    print(shown(consume(prepare=True)))
    conn.commit()
    print("committed")
    row = conn.execute("select (mbus4.consume('orders')).iid", binary=True).fetchone()
    assert row == {"iid": generated}, row
    conn.commit()
    print("consumed generated")
    print("empty" if consume() is None else "not empty")
    conn.commit()
    row = conn.execute("select mbus4.is_msg_exists(%s) as there", ("later",), binary=True).fetchone()
    print("exists", str(row["there"]).lower())
    # Binary columns of all of qt_model but the hstores, whose binary form psycopg does not read.
    row = conn.execute("select id, added, iid, delayed_until, expires, received from mbus4.take(%s)", ("later",),
                       binary=True).fetchone()
    assert row["delayed_until"] == hour and row["expires"] is None, row
    print("took", row["iid"])
    conn.commit()
    print("error", code_of(conn, "select mbus4.post(%s, %s)", ("nowhere", {"a": "1"})))
    row = conn.execute("select mbus4.post('orders', 'a=>1', iid => %s)", ("dup",), prepare=True).fetchone()
    conn.commit()
    print("posted", row["post"])
    print("error", code_of(conn, "select mbus4.post('orders', 'a=>1', iid => %s)", ("dup",)))
    cur = conn.execute("select iid from mbus4.consumen('orders', 'default', %s)", (100,), prepare=True)
    print("left", *[row["iid"] for row in cur])
    conn.commit()

    # A server-side cursor is a DECLARE CURSOR: what is not fetched is not posted.
    with conn.cursor("named") as named:
        named.execute("select mbus4.post('orders', 'a=>1', iid => 'c' || g) as iid from generate_series(1, 9) g")
        assert [row["iid"] for row in named.fetchmany(2)] == ["c1", "c2"]
    with conn.cursor("named") as named:
        named.execute("select iid from mbus4.consumen('orders', amt => 9)")
        assert [row["iid"] for row in named] == ["c1", "c2"]
    conn.commit()
    assert conn.execute("select 1 as fine").fetchone() == {"fine": 1}
    many(conn)


def many(conn):
    """executemany is a pipeline of one prepared statement."""
    with conn.cursor() as cur:
        cur.executemany("select mbus4.post('orders', %s, iid => %s)", [({"n": str(n)}, f"m{n}") for n in range(200)])
    conn.rollback()
    assert conn.execute("select mbus4.peek_orders() as there").fetchone() == {"there": False}
    with conn.cursor() as cur:
        cur.executemany("select mbus4.post('orders', %s, iid => %s)", [({"n": str(n)}, f"m{n}") for n in range(200)])
    conn.commit()
    rows = conn.execute("select iid from mbus4.consumen('orders', amt => 1000)").fetchall()
    assert [row["iid"] for row in rows] == [f"m{n}" for n in range(200)], rows
    conn.commit()


def ordinary():
    conn = psycopg.connect(CONNINFO)

    def show(name, sql, values=None, **options):
        """Runs sql in a transaction of its own and prints what the client can see of it."""
        try:
            cur = conn.execute(sql, values, **options)
            columns = cur.description and [(c.name, c.type_code) for c in cur.description]
            print(name, cur.statusmessage, columns, cur.fetchall() if cur.description else None)
            conn.commit()
        except psycopg.Error as err:
            d = err.diag
            print(name, err.sqlstate, d.statement_position, d.message_primary, d.context)
            conn.rollback()

    show("ddl", "create table item (id int primary key, name text, tags text[], doc jsonb, at timestamptz, raw bytea)")
    insert = "insert into item values (%s, %s, %s, %s, %s, %s) returning *"
    at = datetime.fromisoformat("2026-01-02T03:04:05.678901+00:00")
    show("insert", insert, (1, "one", ["a", None, "b,c"], Jsonb({"k": [1, 2]}), at, b"\0\xff'"))
    show("binary", insert, (2, "two", [], Jsonb(None), at, b""), binary=True)
    show("nulls", insert, (3, None, None, None, None, None), prepare=True, binary=True)
    show("binary parameters", "select %b::int + 1, %b::text, %b::bytea, %b::timestamptz, %b::int[]",
         (41, "é", b"\1\2", at, [1, 2, 3]), binary=True)
    show("join", "select a.id, b.name from item a left join item b on a.id = b.id + %s order by 1", (1,), prepare=True)
    show("duplicate", "insert into item(id) values (%s)", (1,))
    show("syntax", "select 1 +")
    show("column", "select id,\n  nosuch from item where id = %s", (1,))
    for divisor in (1, 0, 1):
        show("prepared", "select 6 / %s::int", (divisor,), prepare=True)
    show("several", "select 1; update item set name = 'three' where id = 3; select 'x' as b")

    with conn.cursor() as cur:
        with cur.copy("copy item(id, name) from stdin") as copy:
            for i in range(10, 5010):
                copy.write_row((i, f"name {i}"))
        print("copied in", cur.rowcount)
        digest, size = hashlib.sha256(), 0
        with cur.copy("copy (select * from item order by id) to stdout (format binary)") as copy:
            for block in copy:
                digest.update(block)
                size += len(block)
        print("copied out", size, digest.hexdigest()[:12])
    conn.commit()
    try:
        with conn.cursor() as cur, cur.copy("copy item(id) from stdin") as copy:
            copy.write("1\n")
            raise RuntimeError("client gives up")
    except psycopg.errors.QueryCanceled as err:
        print("copy abandoned", err, conn.info.transaction_status)
        conn.rollback()

    cur = conn.execute("select n, repeat('x', 100) from generate_series(1, 50000) n", binary=True)
    print("large", sum(n + len(pad) for n, pad in cur))
    cur = conn.cursor()
    print("stream", sum(n for (n,) in cur.stream("select n from generate_series(1, %s) n", (3000,))))
    with conn.cursor("named") as named:
        named.itersize = 700
        named.execute("select n from generate_series(1, 2500) n")
        print("cursor", sum(n for (n,) in named))
    conn.commit()

    with conn.pipeline() as p:
        cursors = [conn.execute("select %s::int * 2", (n,)) for n in range(300)]
        p.sync()
        print("pipeline", sum(c.fetchone()[0] for c in cursors))
    try:
        with conn.pipeline():
            conn.execute("select 1")
            conn.execute("select 1/0")
            conn.execute("select 2")
    except psycopg.Error as err:
        print("pipeline fails", err.sqlstate, conn.info.transaction_status)
    conn.rollback()

    cancel_slow_statement(conn, show)
    asyncio.run(notifications())


def cancel_slow_statement(conn, show):
    """Cancels as soon as the server is seen to be at it."""
    pid = conn.info.backend_pid

    def cancel():
        with psycopg.connect(CONNINFO, autocommit=True) as watcher:
            for _ in range(2000):
                if watcher.execute("select 1 from pg_stat_activity where pid = %s and state = 'active'"
                                   " and query like '%%pg_sleep(60)%%'", (pid,)).fetchone():
                    conn.cancel()
                    return

    thread = threading.Thread(target=cancel)
    thread.start()
    show("cancelled", "select pg_sleep(60)")
    thread.join()


async def notifications():
    """A notification reaches a client that is only waiting."""
    async with await psycopg.AsyncConnection.connect(CONNINFO, autocommit=True) as listener:
        await listener.execute("listen news")
        async with await psycopg.AsyncConnection.connect(CONNINFO, autocommit=True) as speaker:
            for n in range(3):
                await speaker.execute("select pg_notify('news', %s)", (f"hello {n}",))
        heard = []
        generator = listener.notifies()
        while len(heard) < 3:
            n = await asyncio.wait_for(generator.__anext__(), 20)
            heard.append((n.channel, n.payload))
        print("heard", heard)


{"ordinary": ordinary, "queue": queue}[MODE]()
