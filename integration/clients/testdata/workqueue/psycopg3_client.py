"""usage: psycopg3_client.py HOST PORT DATABASE; prints what workqueue_test.go compares."""

import sys

import psycopg
from psycopg.types.json import Jsonb

HOST, PORT, DATABASE = sys.argv[1:]
HANDLER = "insert into done(n) values (($1->>'n')::int)"

conn = psycopg.connect(f"host={HOST} port={PORT} dbname={DATABASE} user=postgres", autocommit=True)


def row(sql, *values, **how):
    print(*conn.execute(sql, values, **how).fetchone())


row("select mbus4.add_message(%s)", Jsonb({"n": 1}))
row("select id, payload->>'n' from mbus4.get_next_message(%s)", 7, binary=True)
row("select mbus4.release_messages(%s)", 7, prepare=True)
print(conn.execute("call mbus4.process_queue(%s, %s)", (7, HANDLER)).statusmessage)
print(conn.execute("call mbus4.process_queue(%b)", (7,), prepare=True).statusmessage)
row("select n, (select count(*) from mbus4.work_queue) from done")
try:
    with conn.transaction():
        conn.execute("call mbus4.process_queue(%b, %b)", (7, HANDLER))
except psycopg.Error as err:
    print("error", err.sqlstate)
with conn.pipeline() as pipeline:
    first = conn.execute("call mbus4.process_queue(%s, handler => %s)", (7, None))
    pipeline.sync()
    second = conn.execute("call mbus4.process_queue(%s, handler => %s)", (70000, None), prepare=True)
assert first.statusmessage == second.statusmessage
print(second.statusmessage)
with psycopg.ClientCursor(conn) as cur:  # the simple protocol
    assert cur.execute("call mbus4.process_queue(%s, %s)", (7, HANDLER)).statusmessage == "CALL"
row("select 'usable', count(*) from mbus4.work_queue")
