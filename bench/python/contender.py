# The same work as the other contenders', with pyverbs. The lines that it reads and writes are described in ../c/contender.c.
# Lists are chains of requests (next_wr), posted by one call. Completions are polled by CQEX, which makes no objects of them.
#
# contender.py cold WHAT does what a program does first, and ends.
import sys

if len(sys.argv) == 3 and sys.argv[1] == "cold":
    import cold

    cold.run(sys.argv[2])
    sys.exit(0)

import ctypes
import time

from pyverbs.addr import AHAttr, AH, GlobalRoute
from pyverbs.cq import CQ, CompChannel, CQEX, CqInitAttrEx, PollCqAttr
from pyverbs.device import Context, get_device_list
from pyverbs.enums import (
    IBV_ACCESS_LOCAL_WRITE, IBV_QPT_UD, IBV_SEND_SIGNALED, IBV_WC_EX_WITH_BYTE_LEN, IBV_WC_EX_WITH_QP_NUM,
    IBV_WC_EX_WITH_SRC_QP, IBV_WC_SUCCESS, IBV_WR_SEND,
)
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from pyverbs.wr import SGE, SendWR

PORT, QKEY, LIST, GRH, SIZE, SLOT, MOST = 1, 0x11111111, 32, 40, 64, 128, 256
EMPTY, RECEIVES, TICKS = 1, 2, 3
WC_FLAGS = IBV_WC_EX_WITH_BYTE_LEN | IBV_WC_EX_WITH_QP_NUM | IBV_WC_EX_WITH_SRC_QP

context = Context(name=get_device_list()[0].name.decode())
pd = PD(context)
mr = MR(pd, MOST * SLOT, IBV_ACCESS_LOCAL_WRITE)
cq = CQ(context, 2 * LIST)
cap = QPCap(max_send_wr=2 * LIST, max_recv_wr=2 * LIST, max_send_sge=1, max_recv_sge=1)
poll_attr = PollCqAttr()


def own_handle():
    route = GlobalRoute(dgid=context.query_gid(PORT, 0), sgid_index=0)
    route.hop_limit = 64
    return AH(pd, attr=AHAttr(port_num=PORT, is_global=1, gr=route))


attr = QPAttr(port_num=PORT)
attr.qkey = QKEY
qp = QP(pd, QPInitAttr(qp_type=IBV_QPT_UD, scq=cq, rcq=cq, cap=cap), attr)
ahs = [own_handle() for _ in range(LIST)]


def send(slot):
    sge = SGE(mr.buf + slot * SLOT, SIZE, mr.lkey)
    wr = SendWR(slot, num_sge=1, sg=[sge], opcode=IBV_WR_SEND, send_flags=IBV_SEND_SIGNALED)
    wr.set_wr_ud(ahs[0], qp.qp_num, QKEY)
    return wr


def chain(requests):
    for request, following in zip(requests, requests[1:]):
        request.next_wr = following
    return requests


sends = chain([send(i) for i in range(LIST)])
single_send = send(0)
made = {}


def once(name, make):
    if name not in made:
        made[name] = make()
    return made[name]


def extended(vector=0):
    return once(("cqex", vector), lambda: CQEX(context, CqInitAttrEx(cqe=LIST, wc_flags=WC_FLAGS, comp_vector=vector)))


def drain_ex(ex, count):
    total = 0
    if ex.start_poll(poll_attr):
        raise RuntimeError("the queue is empty")
    for i in range(count):
        if i and ex.poll_next():
            raise RuntimeError("the queue is empty")
        if ex.status != IBV_WC_SUCCESS:
            raise RuntimeError(f"completion status {ex.status}")
        total += ex.wr_id
    ex.end_poll()
    return total


def drain(count):
    total = 0
    polled, wcs = cq.poll(count)
    for wc in wcs:
        if wc.status != IBV_WC_SUCCESS:
            raise RuntimeError(f"completion status {wc.status}")
        total += wc.wr_id
    return total


def poll_empty(count, _):
    ex = extended(EMPTY)
    for _ in range(count):
        ex.start_poll(poll_attr)


def post_send(count, _):
    for _ in range(count):
        qp.post_send(single_send)


def post_poll(count, _):
    ex = extended()
    for _ in range(count // LIST):
        qp.post_send(sends[0])
        drain_ex(ex, LIST)


def changed(count, size):
    ex = extended()
    requests = once(("sends", size), lambda: chain([send(i) for i in range(size)]))
    for r in range(count // size):
        for i, wr in enumerate(requests):
            wr.set_wr_ud(ahs[(i + r) & 31], (r + i) & 255, QKEY)
        qp.post_send(requests[0])
        drain_ex(ex, size)


def object_(count, _):
    ex = extended()
    for i in range(count):
        sge = SGE(mr.buf, SIZE, mr.lkey)
        wr = SendWR(i, num_sge=1, sg=[sge], opcode=IBV_WR_SEND, send_flags=IBV_SEND_SIGNALED)
        wr.set_wr_ud(ahs[i & 31], i & 255, QKEY)
        qp.post_send(wr)
        drain_ex(ex, 1)


def poll_objects(count, _):
    for _ in range(count // LIST):
        drain(LIST)


def poll_list_ex(count, _):
    ex = extended()
    for _ in range(count // LIST):
        drain_ex(ex, LIST)


def write_headers():
    for i in range(LIST):
        mr.write(bytes([0x60, 0, 0, 0, 0, SIZE, 17, 64]) + i.to_bytes(4, "big") * 4 + bytes(16), GRH, i * SLOT)
    return {mr.read(GRH, i * SLOT): ahs[i] for i in range(LIST)}


# The handles are known by the packets' GRHs. An extended queue tells the sender's queue pair and makes no objects.
def answer_list(known, size, first):
    ex = extended(RECEIVES)
    if ex.start_poll(poll_attr):
        raise RuntimeError("the queue is empty")
    for i in range(size):
        if i and ex.poll_next():
            raise RuntimeError("the queue is empty")
        if ex.status != IBV_WC_SUCCESS:
            raise RuntimeError(f"completion status {ex.status}")
        request = sends[i] if size > 1 else single_send
        request.set_wr_ud(known[mr.read(GRH, ((first + i) & 31) * SLOT)], ex.read_src_qp(), QKEY)
    ex.end_poll()


def answer(count, _):
    known, ex = once("known", write_headers), extended()
    for _ in range(count // LIST):
        answer_list(known, LIST, 0)
        qp.post_send(sends[0])
        drain_ex(ex, LIST)


def answer_one(count, _):
    known, ex = once("known", write_headers), extended()
    for i in range(count):
        answer_list(known, 1, i)
        qp.post_send(single_send)
        drain_ex(ex, 1)


def wake_up(count, _):
    provider = ctypes.CDLL(None)
    provider.noop_spent.restype = ctypes.c_uint64
    channel = CompChannel(context)
    ticks = CQ(context, 1, channel=channel, comp_vector=TICKS)
    half, spent, waited = count // 2, 0, []

    def take():
        for wc in ticks.poll(1)[1] or ():
            if wc.status != IBV_WC_SUCCESS:
                raise RuntimeError(f"completion status {wc.status}")
            waited.append(time.monotonic_ns() - wc.wr_id)

    while len(waited) < count:
        if len(waited) == half:
            spent = provider.noop_spent()
        ticks.req_notify()
        take()
        channel.get_cq_event(ticks)
        ticks.ack_events(1)
        take()
    spent = (provider.noop_spent() - spent) / (count - half)
    return f"{sorted(waited[half:])[(count - half) // 2]} processor={spent}"


ROUNDS = {f.__name__.rstrip("_"): f for f in (
    poll_empty, post_send, post_poll, changed, object_, poll_objects, poll_list_ex, answer, answer_one)}
WHOLE_LISTS = {"post_poll", "poll_objects", "poll_list_ex", "answer"}

for line in sys.stdin:
    full_name, count, parts = line.split()
    name, _, argument = full_name.partition(":")
    argument = int(argument or 0)
    step = LIST if name in WHOLE_LISTS else argument if name == "changed" else 1
    count = -(-int(count) // step) * step
    if name == "wake_up":
        print(wake_up(count, argument), flush=True)
        continue
    taken = []
    for _ in range(int(parts)):
        start = time.perf_counter_ns()
        ROUNDS[name](count, argument)
        taken.append((time.perf_counter_ns() - start) / count)
    print(sorted(taken)[len(taken) // 2], flush=True)
