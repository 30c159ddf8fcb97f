"""usage: libpq_client.py LIBRARY CONNINFO

Connects with a certain libpq, without a driver in between, and cancels a statement in each way that this
libpq has. Prints one line per finding; the Go tests read them.
"""

import ctypes
import select
import sys

LIBRARY, CONNINFO = sys.argv[1:]

libpq = ctypes.CDLL(LIBRARY)
pointer, text, number = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int
for name, result, arguments in (
    ("PQconnectdb", pointer, [text]),
    ("PQstatus", number, [pointer]),
    ("PQerrorMessage", text, [pointer]),
    ("PQprotocolVersion", number, [pointer]),
    ("PQfullProtocolVersion", number, [pointer]),
    ("PQsocket", number, [pointer]),
    ("PQsendQuery", number, [pointer, text]),
    ("PQconsumeInput", number, [pointer]),
    ("PQisBusy", number, [pointer]),
    ("PQgetResult", pointer, [pointer]),
    ("PQresultErrorField", text, [pointer, number]),
    ("PQgetvalue", text, [pointer, number, number]),
    ("PQclear", None, [pointer]),
    ("PQfinish", None, [pointer]),
    ("PQgetCancel", pointer, [pointer]),
    ("PQcancel", number, [pointer, text, number]),
    ("PQfreeCancel", None, [pointer]),
    ("PQcancelCreate", pointer, [pointer]),
    ("PQcancelBlocking", number, [pointer]),
    ("PQcancelErrorMessage", text, [pointer]),
    ("PQcancelFinish", None, [pointer]),
):
    try:
        function = getattr(libpq, name)
    except AttributeError:
        continue
    function.restype, function.argtypes = result, arguments


def cancel_as_ever():
    handle = libpq.PQgetCancel(conn)
    buffer = ctypes.create_string_buffer(256)
    if not libpq.PQcancel(handle, buffer, len(buffer)):
        sys.exit(f"PQcancel: {buffer.value!r}")
    libpq.PQfreeCancel(handle)


def cancel_as_connected():
    handle = libpq.PQcancelCreate(conn)
    if not libpq.PQcancelBlocking(handle):
        sys.exit(f"PQcancelBlocking: {libpq.PQcancelErrorMessage(handle)!r}")
    libpq.PQcancelFinish(handle)


def answer(sql, cancel=None):
    """Runs a statement, cancels it until it ends, and gives its SQLSTATE or value."""
    if not libpq.PQsendQuery(conn, sql):
        sys.exit(f"sending: {libpq.PQerrorMessage(conn)!r}")
    for _ in range(200):  # a request that comes before the statement runs does nothing
        if cancel:
            cancel()
        readable, _, _ = select.select([libpq.PQsocket(conn)], [], [], 0.1)
        if readable and not libpq.PQconsumeInput(conn):
            sys.exit(f"reading: {libpq.PQerrorMessage(conn)!r}")
        if not libpq.PQisBusy(conn):
            break
    else:
        sys.exit(f"no answer to {sql!r}")
    found = []
    while result := libpq.PQgetResult(conn):
        state = libpq.PQresultErrorField(result, ord("C"))
        found.append((state or libpq.PQgetvalue(result, 0, 0)).decode())
        libpq.PQclear(result)
    return " ".join(found)


conn = libpq.PQconnectdb(CONNINFO.encode())
if libpq.PQstatus(conn) != 0:
    sys.exit(f"connecting: {libpq.PQerrorMessage(conn)!r}")
if hasattr(libpq, "PQfullProtocolVersion"):
    print("protocol", libpq.PQfullProtocolVersion(conn))
else:
    print("protocol", libpq.PQprotocolVersion(conn) * 10000)
print("ran", answer(b"select 1 + 1"))
print("cancelled", answer(b"select pg_sleep(600)", cancel_as_ever))
if hasattr(libpq, "PQcancelCreate"):
    print("cancelled", answer(b"select pg_sleep(600)", cancel_as_connected))
print("ran", answer(b"select 2 + 2"))
libpq.PQfinish(conn)
