"""A wire that takes its time: carries frames between two interfaces, each one later by a fixed delay.

For kernels without the netem queueing discipline. Runs as a process of its own in the fabric."""

import collections
import select
import socket
import time

SOL_PACKET, PACKET_ADD_MEMBERSHIP, PACKET_VNET_HDR, PACKET_MR_PROMISC = 263, 1, 15, 1
ETH_P_ALL = 3
FRAME_BYTES = 70_000  # offloaded segments are larger than any frame on a real wire
BUFFER_BYTES = 4 << 20
AT_ONCE = 64  # frames taken from one side before the other has its turn


def _end_of_wire(interface):
    end = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
    end.bind((interface, 0))
    index = socket.if_nametoindex(interface).to_bytes(4, "little")
    promiscuous = index + PACKET_MR_PROMISC.to_bytes(2, "little") + bytes(10)
    end.setsockopt(SOL_PACKET, PACKET_ADD_MEMBERSHIP, promiscuous)
    # With the virtual header, checksums and segments left to the "hardware" stay so on the other side.
    end.setsockopt(SOL_PACKET, PACKET_VNET_HDR, 1)
    end.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER_BYTES)
    end.setblocking(False)
    return end


class Wire:
    def __init__(self, one, other, delay_s):
        one, other = _end_of_wire(one), _end_of_wire(other)
        self._other_end = {one: other, other: one}
        self._delay_s = delay_s
        self._under_way = collections.deque()  # (due at, end, frame), oldest first

    def run(self):
        """Until an interface is taken away."""
        while True:
            self._deliver()
            wait_s = max(0, self._under_way[0][0] - time.monotonic()) if self._under_way else None
            for end in select.select(list(self._other_end), [], [], wait_s)[0]:
                if not self._take(end):
                    return

    def _deliver(self):
        while self._under_way and self._under_way[0][0] <= time.monotonic():
            _, end, frame = self._under_way.popleft()
            try:
                end.send(frame)
            except OSError:
                pass  # lost, as on any wire whose end is down

    def _take(self, end):
        for _ in range(AT_ONCE):
            try:
                frame, address = end.recvfrom(FRAME_BYTES)
            except BlockingIOError:
                return True
            except OSError:
                return False
            if address[2] != socket.PACKET_OUTGOING:
                self._under_way.append((time.monotonic() + self._delay_s, self._other_end[end], frame))
        return True
