"""No test goes to the network: whoever connects to another machine is told off."""

import sys

HERE = {None, "", "localhost", "127.0.0.1", "::1", b"localhost", b"127.0.0.1"}


def refuse_others(event, arguments):
    if event == "socket.connect":
        address = arguments[1]
        # The address of a pipe in the file system is no tuple.
        elsewhere = isinstance(address, tuple) and address[0] not in HERE
    else:
        elsewhere = event == "socket.getaddrinfo" and arguments[0] not in HERE
    if elsewhere:
        raise PermissionError(f"Tests go to no other machine: {event} {arguments[1:]}.")


sys.addaudithook(refuse_others)
