"""A worker with psycopg 3: does its work in the transaction that consumes the message. Ends on SIGTERM.

    python3 psycopg3_worker.py 'host=127.0.0.1 port=6432 user=app dbname=app'
"""

import signal
import sys

import psycopg
from psycopg.rows import namedtuple_row
from psycopg.types import TypeInfo
from psycopg.types.hstore import register_hstore

stopping = False
connection = psycopg.connect(sys.argv[1], row_factory=namedtuple_row)
register_hstore(TypeInfo.fetch(connection, "hstore"), connection)  # data comes as a dict
connection.commit()


def stop(signum, frame):
    global stopping
    stopping = True
    connection.cancel()  # ends the wait


def work(message):
    """What the worker is for, in the message's own transaction: it happens exactly once."""
    connection.execute("insert into done (worker, n) values ('psycopg3', %s)", (int(message.data["n"]),))


signal.signal(signal.SIGTERM, stop)
while not stopping:
    try:
        with connection.transaction():
            message = connection.execute("select m.*, m as whole from mbus4.consume('orders', wait => '30s') m").fetchone()
            if message is None:
                continue  # nothing came: wait again
            try:
                with connection.transaction():  # a savepoint: work that fails is undone
                    work(message)
            except psycopg.Error as error:
                connection.execute("select mbus4.retry(%s::mbus4.qt_model, %s)", (message.whole, str(error)))
    except psycopg.errors.QueryCanceled:
        continue
