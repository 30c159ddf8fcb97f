"""usage: psycopg2_client.py HOST PORT DATABASE; prints what workqueue_test.go compares."""

import sys

import psycopg2

HOST, PORT, DATABASE = sys.argv[1:]
HANDLER = "insert into done(n) values (($1->>'n')::int)"

conn = psycopg2.connect(host=HOST, port=PORT, dbname=DATABASE, user="postgres")
conn.autocommit = True
cur = conn.cursor()


def row(sql, *values):
    cur.execute(sql, values)
    print(*cur.fetchone())


row("select mbus4.add_message(%s)", '{"n": 1}')
row("select id, payload->>'n' from mbus4.get_next_message(%s)", 7)
row("select mbus4.release_messages(%s)", 7)
cur.execute("call mbus4.process_queue(%s, %s)", (7, HANDLER))
print(cur.statusmessage)
cur.execute("call mbus4.process_queue(%s)", (7,))
print(cur.statusmessage)
row("select n, (select count(*) from mbus4.work_queue) from done")
conn.autocommit = False
try:
    cur.execute("call mbus4.process_queue(%s, %s)", (7, HANDLER))
except psycopg2.Error as err:
    print("error", err.pgcode)
conn.rollback()
conn.autocommit = True
cur.execute("call mbus4.process_queue(%s, handler => %s)", (7, None))
print(cur.statusmessage)
row("select 'usable', count(*) from mbus4.work_queue")
