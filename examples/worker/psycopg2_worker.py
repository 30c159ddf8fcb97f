"""A worker with psycopg2: waits for orders, works, and acknowledges them. Ends on SIGTERM.

    python3 psycopg2_worker.py 'host=127.0.0.1 port=6432 user=app dbname=app'
"""

import signal
import sys

import psycopg2
import psycopg2.extensions
import psycopg2.extras

psycopg2.extensions.set_wait_callback(psycopg2.extras.wait_select)  # lets Python handle a signal during a wait
stopping = False
connection = psycopg2.connect(sys.argv[1])
connection.autocommit = True  # a lease is committed: the work itself needs no transaction
psycopg2.extras.register_hstore(connection)  # data comes as a dict


def stop(signum, frame):
    global stopping
    stopping = True
    connection.cancel()  # ends the wait


def work(cursor, message):
    """What the worker is for. An error sends the message back."""
    cursor.execute("insert into done (worker, n) values ('psycopg2', %s)", (int(message["data"]["n"]),))


signal.signal(signal.SIGTERM, stop)
cursor = connection.cursor(cursor_factory=psycopg2.extras.RealDictCursor)
while not stopping:
    try:
        cursor.execute("select iid, data, attempt, lease from mbus4.lease('orders', lease => '1 min', wait => '30s')")
        message = cursor.fetchone()
    except psycopg2.errors.QueryCanceled:
        continue
    if message is None:
        continue  # nothing came: wait again
    try:
        work(cursor, message)
    except Exception as error:
        cursor.execute("select mbus4.retry(%s::text, %s)", (message["lease"], str(error)))  # comes again later, as the consumer's policy says
    else:
        cursor.execute("select mbus4.ack(%s)", (message["lease"],))
