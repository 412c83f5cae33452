# The same work as the other contenders', with pyverbs. See ../c/contender.c.
import sys
import time

from pyverbs.addr import AHAttr, AH, GlobalRoute
from pyverbs.cq import CQ
from pyverbs.device import Context, get_device_list
from pyverbs.enums import IBV_ACCESS_LOCAL_WRITE, IBV_QPT_UD, IBV_SEND_SIGNALED, IBV_WC_SUCCESS, IBV_WR_SEND
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from pyverbs.wr import RecvWR, SGE, SendWR

PORT, QKEY, LIST, GRH, SIZE, SLOT = 1, 0x11111111, 32, 40, 64, 128


class Datagrams:
    """Datagrams that a queue pair sends to itself; each is posted by a call of its own, as pyverbs has it."""

    def __init__(self, context):
        pd = PD(context)
        self.mr = MR(pd, 2 * LIST * SLOT, IBV_ACCESS_LOCAL_WRITE)
        self.cq = CQ(context, 2 * LIST)
        cap = QPCap(max_send_wr=2 * LIST, max_recv_wr=2 * LIST, max_send_sge=1, max_recv_sge=1)
        init = QPInitAttr(qp_type=IBV_QPT_UD, scq=self.cq, rcq=self.cq, cap=cap)
        attr = QPAttr(port_num=PORT)
        attr.qkey = QKEY
        self.qp = QP(pd, init, attr)
        route = GlobalRoute(dgid=context.query_gid(PORT, 0), sgid_index=0)
        route.hop_limit = 64
        self.ah = AH(pd, attr=AHAttr(port_num=PORT, is_global=1, gr=route))
        self.sends = [self.send(i) for i in range(LIST)]
        self.recvs = [self.recv(i) for i in range(LIST)]

    def send(self, slot):
        sge = SGE(self.mr.buf + slot * SLOT, SIZE, self.mr.lkey)
        wr = SendWR(slot, num_sge=1, sg=[sge], opcode=IBV_WR_SEND, send_flags=IBV_SEND_SIGNALED)
        wr.set_wr_ud(self.ah, self.qp.qp_num, QKEY)
        return wr

    def recv(self, slot):
        sge = SGE(self.mr.buf + (LIST + slot) * SLOT, GRH + SIZE, self.mr.lkey)
        return RecvWR(LIST + slot, num_sge=1, sg=[sge])


def exchange(count, size):
    qp, cq = g.qp, g.cq
    sends, recvs = g.sends[:size], g.recvs[:size]
    for _ in range(max(1, count // size)):
        for wr in recvs:
            qp.post_recv(wr)
        for wr in sends:
            qp.post_send(wr)
        polled = 0
        while polled < 2 * size:
            n, wcs = cq.poll(2 * LIST)
            for wc in wcs:
                if wc.status != IBV_WC_SUCCESS:
                    raise RuntimeError(f"completion status {wc.status}")
            polled += n


def poll_empty(count):
    cq = empty
    for _ in range(count):
        cq.poll(1)


def post_send(count):
    qp, wr = g.qp, g.sends[0]
    for _ in range(count):
        qp.post_send(wr)


def post_poll(count):
    qp, cq, sends = g.qp, g.cq, g.sends
    total = 0
    for _ in range(max(1, count // LIST)):
        for wr in sends:
            qp.post_send(wr)
        _, wcs = cq.poll(LIST)
        for wc in wcs:
            if wc.status != IBV_WC_SUCCESS:
                raise RuntimeError(f"completion status {wc.status}")
            total += wc.wr_id


def ud_round(count):
    exchange(count, 1)


def ud_messages(count):
    exchange(count, LIST)


ROWS = {f.__name__: f for f in (poll_empty, post_send, post_poll, ud_round, ud_messages)}
PER_CALL = {"post_poll": LIST, "ud_messages": LIST}

context = Context(name=get_device_list()[0].name.decode())
empty = CQ(context, 1)
g = Datagrams(context)
for line in sys.stdin:
    name, count, parts = line.split()
    step = PER_CALL.get(name, 1)
    count = -(-int(count) // step) * step
    taken = []
    for _ in range(int(parts)):
        start = time.perf_counter_ns()
        ROWS[name](count)
        taken.append((time.perf_counter_ns() - start) / count)
    print(sorted(taken)[len(taken) // 2], flush=True)
