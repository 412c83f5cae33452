# The same work as in ../c/contender.c, with pyverbs: requests are chained, and a call posts the whole chain.
import sys
import time

from pyverbs.addr import AH, AHAttr, GlobalRoute
from pyverbs.cq import CQ, CompChannel
from pyverbs.device import Context, get_device_list
from pyverbs.enums import IBV_ACCESS_LOCAL_WRITE, IBV_QPT_UD, IBV_SEND_SIGNALED, IBV_WC_SUCCESS, IBV_WR_SEND
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from pyverbs.wr import RecvWR, SGE, SendWR

PORT, QKEY, LIST, GRH, SIZE, SLOT, DEPTH = 1, 0x11111111, 32, 40, 64, 4136, 64

context = Context(name=get_device_list()[0].name.decode())
pd = PD(context)
lost = 0


def create_qp(send_cq, recv_cq=None):
    cap = QPCap(max_send_wr=2 * LIST, max_recv_wr=2 * LIST, max_send_sge=1, max_recv_sge=1)
    attr = QPAttr(port_num=PORT)
    attr.qkey = QKEY
    return QP(pd, QPInitAttr(qp_type=IBV_QPT_UD, scq=send_cq, rcq=recv_cq or send_cq, cap=cap), attr)


def create_ah():
    route = GlobalRoute(dgid=context.query_gid(PORT, 0), sgid_index=0)
    route.hop_limit = 64
    return AH(pd, attr=AHAttr(port_num=PORT, is_global=1, gr=route))


def chained(requests):
    for request, following in zip(requests, requests[1:]):
        request.next_wr = following
    return requests[0]


def check(wc):
    if wc.status != IBV_WC_SUCCESS:
        raise RuntimeError(f"completion status {wc.status}")


class Loop:
    """Datagrams that a queue pair sends to itself, in lists."""

    def __init__(self, length):
        self.length = length
        self.posted = 0
        self.mr = MR(pd, 2 * LIST * SLOT, IBV_ACCESS_LOCAL_WRITE)
        self.cq = CQ(context, 2 * LIST)
        self.qp = create_qp(self.cq)
        self.ah = create_ah()
        self.sends = [self.send(i) for i in range(length)]
        self.all_sends = chained(self.sends)
        self.recvs = [self.recv(i) for i in range(length)]
        chained(self.recvs)

    def send(self, slot):
        sge = SGE(self.mr.buf + slot * SLOT, SIZE, self.mr.lkey)
        wr = SendWR(slot, num_sge=1, sg=[sge], opcode=IBV_WR_SEND, send_flags=IBV_SEND_SIGNALED)
        wr.set_wr_ud(self.ah, self.qp.qp_num, QKEY)
        return wr

    def recv(self, slot):
        sge = SGE(self.mr.buf + (LIST + slot) * SLOT, SLOT, self.mr.lkey)
        return RecvWR(LIST + slot, num_sge=1, sg=[sge])

    def exchange(self):
        global lost
        if self.posted < self.length:  # after a loss some receives are posted still
            self.qp.post_recv(self.recvs[self.posted])
            self.posted = self.length
        self.qp.post_send(self.all_sends)
        polled, since = 0, None
        while polled < 2 * self.length:
            n, wcs = self.cq.poll(2 * LIST)
            for wc in wcs:
                check(wc)
            polled += n
            if n == 0:
                since = since or time.perf_counter()
                if time.perf_counter() - since > 0.1:
                    break
        lost += 2 * self.length - polled
        self.posted -= polled - self.length  # sends complete always


loops = {}


def loop(length):
    if length not in loops:
        loops[length] = Loop(length)
    return loops[length]


def messages(count, length):
    l = loop(length)
    for _ in range(count // length):
        l.exchange()


class Echo:
    """A server that knows its peer's handle by the header of a packet, and that peer."""

    def __init__(self, length):
        self.length = length
        self.known = {}
        self.mr = MR(pd, 4 * LIST * SLOT, IBV_ACCESS_LOCAL_WRITE)
        self.recv_cq, self.send_cq, self.client_cq = CQ(context, LIST), CQ(context, LIST), CQ(context, 2 * LIST)
        self.server, self.client = create_qp(self.send_cq, self.recv_cq), create_qp(self.client_cq)
        self.ah = create_ah()
        self.requests, self.answers = [self.send(i) for i in range(length)], [self.send(LIST + i) for i in range(length)]
        self.server_recvs = [self.recv(2 * LIST + i) for i in range(length)]
        self.client_recvs = [self.recv(3 * LIST + i) for i in range(length)]
        for requests in self.requests, self.server_recvs, self.client_recvs:
            chained(requests)
        self.chains = [chained(self.answers[i:]) for i in range(length)]
        for wr in self.requests:
            wr.set_wr_ud(self.ah, self.server.qp_num, QKEY)

    def send(self, slot):
        sge = SGE(self.mr.buf + slot * SLOT, SIZE, self.mr.lkey)
        return SendWR(slot, num_sge=1, sg=[sge], opcode=IBV_WR_SEND, send_flags=IBV_SEND_SIGNALED)

    def recv(self, slot):
        return RecvWR(slot, num_sge=1, sg=[SGE(self.mr.buf + slot * SLOT, SLOT, self.mr.lkey)])

    def round(self):
        self.client.post_recv(self.client_recvs[0])
        self.server.post_recv(self.server_recvs[0])
        self.client.post_send(self.requests[0])
        left = self.length
        while left > 0:
            n, wcs = self.recv_cq.poll(LIST)
            for i, wc in enumerate(wcs or ()):
                check(wc)
                ah = self.known.setdefault(self.mr.read(GRH, wc.wr_id * SLOT), self.ah)
                self.answers[self.length - n + i].set_wr_ud(ah, wc.src_qp, QKEY)
            if n > 0:
                self.server.post_send(self.chains[self.length - n])
                drain(self.send_cq, n)
                left -= n
        drain(self.client_cq, 2 * self.length)


def drain(cq, count):
    since = time.perf_counter()
    while count > 0:
        n, wcs = cq.poll(2 * LIST)
        for wc in wcs or ():
            check(wc)
        count -= n
        if time.perf_counter() - since > 1:
            raise RuntimeError("a datagram is lost")


echoes = {}


def echo(count, length):
    if length not in echoes:
        echoes[length] = Echo(length)
    for _ in range(count // length):
        echoes[length].round()


def maker(kind):
    if kind == "ah":
        return create_ah
    cq = CQ(context, 2 * DEPTH)
    cap = QPCap(max_send_wr=DEPTH, max_recv_wr=DEPTH, max_send_sge=1, max_recv_sge=1)
    return lambda: QP(pd, QPInitAttr(qp_type=IBV_QPT_UD, scq=cq, rcq=cq, cap=cap))


makers = {}


def maker_of(kind):
    if kind not in makers:
        makers[kind] = maker(kind)
    return makers[kind]


def make_and_end(count, kind):
    make = maker_of(kind)
    for _ in range(count):
        make().close()


server = None


class Server:
    """Sleeps until datagrams come."""

    def __init__(self):
        self.channel = CompChannel(context)
        self.cq = CQ(context, 2 * LIST, None, self.channel)
        self.qp = create_qp(self.cq)
        self.mr = MR(pd, LIST * SLOT, IBV_ACCESS_LOCAL_WRITE)
        self.recvs = [RecvWR(i, num_sge=1, sg=[SGE(self.mr.buf + i * SLOT, SLOT, self.mr.lkey)]) for i in range(LIST)]
        for wr in self.recvs:
            self.qp.post_recv(wr)

    def serve(self, count):
        for wc in self.cq.poll(LIST)[1]:  # the sender of the last round was ended late
            self.qp.post_recv(self.recvs[wc.wr_id])
        print(self.qp.qp_num, flush=True)
        waited = []
        while len(waited) < count:
            # polled once more after the arming: a completion before it makes no event
            self.cq.req_notify()
            self.take(waited)
            self.channel.get_cq_event(self.cq)
            self.cq.ack_events(1)
            self.take(waited)
        return sorted(waited)[len(waited) // 2]

    def take(self, waited):
        while (polled := self.cq.poll(1))[0] != 0:
            [wc] = polled[1]
            check(wc)
            stamp = self.mr.read(8, wc.wr_id * SLOT + GRH)
            waited.append(time.clock_gettime_ns(time.CLOCK_MONOTONIC) - int.from_bytes(stamp, "little"))
            self.qp.post_recv(self.recvs[wc.wr_id])


def timed(work, count, parts):
    taken = []
    for _ in range(parts):
        start = time.perf_counter_ns()
        work(count)
        taken.append((time.perf_counter_ns() - start) / count)
    return sorted(taken)[len(taken) // 2]


def run(name, count, parts):
    global server
    if name == "serve":
        server = server or Server()
        return server.serve(count)
    if name == "ud_round":
        return timed(lambda count: messages(count, 1), count, parts)
    if name == "ud_list":
        return timed(lambda count: messages(count, LIST), -(-count // LIST) * LIST, parts)
    if name == "echo":
        return timed(lambda count: echo(count, 1), count, parts)
    if name == "reply_cached":
        return timed(lambda count: echo(count, LIST), -(-count // LIST) * LIST, parts)
    kind = name.removeprefix("make_")
    maker_of(kind)
    return timed(lambda count: make_and_end(count, kind), count, parts)


for line in sys.stdin:
    name, count, parts = line.split()
    lost = 0
    outcome = run(name, int(count), int(parts))
    print(f"{outcome} lost={lost}", flush=True)
