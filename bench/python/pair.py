# One of two processes that send messages to each other, with pyverbs. See ../c/pair.c.
import sys
import time

from pyverbs.cq import CompChannel

from end import End, LIST, open_device, poll


class Echo:
    def __init__(self, kind):
        context = open_device()
        self.channel = CompChannel(context) if kind.endswith("_events") else None
        self.end = End(context, kind.startswith("rc"), self.channel)
        self.is_armed, self.unsent = False, 0

    def connect(self, remote):
        self.end.connect(remote)
        for _ in range(2):
            self.end.qp.post_recv(self.end.recvs[0])

    def wait_for_event(self):
        # polled once more after the arming: a completion before it makes no event
        if self.is_armed:
            self.channel.get_cq_event(self.end.recv_cq)
            self.end.recv_cq.ack_events(1)
        else:
            self.end.recv_cq.req_notify()
        self.is_armed = not self.is_armed

    # The last n requests of a chain are a chain of n.
    def take(self):
        while (n := poll(self.end.recv_cq)) == 0:
            if self.channel:
                self.wait_for_event()
        self.end.qp.post_recv(self.end.recvs[LIST - n])
        return n

    def post(self, count):
        while self.unsent > 0:
            self.unsent -= poll(self.end.send_cq)
        self.end.qp.post_send(self.end.sends[LIST - count])
        self.unsent = count

    def serve(self, count):
        while count > 0:
            n = self.take()
            self.post(n)
            count -= n
        return 0

    def play(self, count, window):
        taken = []
        for _ in range(-(-count // window)):
            start, come = time.perf_counter_ns(), 0
            self.post(window)
            while come < window:
                come += self.take()
            taken.append((time.perf_counter_ns() - start) / window)
        taken.sort()
        return f"{taken[len(taken) // 2]} p99={taken[len(taken) * 99 // 100]} mean={sum(taken) / len(taken)}"


role, kind = sys.argv[1:]
echo = Echo(kind)
print(echo.end.qp.qp_num, flush=True)
echo.connect(int(sys.stdin.readline().split()[0]))
print("connected", flush=True)
for line in sys.stdin:
    count, window, *_ = map(int, line.split())
    print(echo.serve(count) if role == "server" else echo.play(count, window), flush=True)
