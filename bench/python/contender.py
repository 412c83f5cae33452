# The same work as the other contenders', with pyverbs. The lines that it reads and writes are described in ../c/contender.c.
# Completions are polled by CQEX, which makes no objects of them, but on soft-RoCE: there the kernel's time is most of all, and
# an extended queue can lose completions.
import sys
import time

from pyverbs.addr import AH
from pyverbs.cq import CQEX, CqInitAttrEx, PollCqAttr
from pyverbs.enums import IBV_WC_EX_WITH_SRC_QP, IBV_WC_SUCCESS

from end import End, GRH, LIST, QKEY, SIZE, SLOT, open_device

SENDS, EMPTY, RECEIVES = 0, 1, 2

end = End(open_device())
end.connect(end.qp.qp_num)
# A list of one.
single = end.send(0, end.qp.qp_num)
poll_attr = PollCqAttr()
made = {}


def extended(vector):
    if vector not in made:
        attr = CqInitAttrEx(cqe=LIST, wc_flags=IBV_WC_EX_WITH_SRC_QP, comp_vector=vector)
        made[vector] = CQEX(end.context, attr)
    return made[vector]


def drain(ex, count):
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


def poll_empty(count):
    ex = extended(EMPTY)
    for _ in range(count):
        ex.start_poll(poll_attr)


def post_send(count):
    for _ in range(count):
        end.qp.post_send(single)


def changed(count):
    ex = extended(SENDS)
    ahs = [AH(end.pd, attr=end.own_address()) for _ in range(LIST)]
    for r in range(count // LIST):
        for i, wr in enumerate(end.sends):
            wr.set_wr_ud(ahs[(i + r) & 31], (r + i) & 255, QKEY)
        end.qp.post_send(end.sends[0])
        drain(ex, LIST)


def known_handles():
    if "known" not in made:
        for i in range(LIST):
            end.mr.write(bytes([0x60, 0, 0, 0, 0, SIZE, 17, 64]) + bytes([i] * 32), GRH, i * SLOT)
        made["known"] = {end.mr.read(GRH, i * SLOT): AH(end.pd, attr=end.own_address()) for i in range(LIST)}
    return made["known"]


# The handles are known by the packets' GRHs. An extended queue tells the sender's queue pair and makes no objects.
def find_senders(requests, known, first):
    ex = extended(RECEIVES)
    if ex.start_poll(poll_attr):
        raise RuntimeError("the queue is empty")
    for i, request in enumerate(requests):
        if i and ex.poll_next():
            raise RuntimeError("the queue is empty")
        if ex.status != IBV_WC_SUCCESS:
            raise RuntimeError(f"completion status {ex.status}")
        request.set_wr_ud(known[end.mr.read(GRH, ((first + i) & 31) * SLOT)], ex.read_src_qp(), QKEY)
    ex.end_poll()


def answer_lists(count, requests):
    known, ex, size = known_handles(), extended(SENDS), len(requests)
    for first in range(0, count, size):
        find_senders(requests, known, first)
        end.qp.post_send(requests[0])
        drain(ex, size)


def answer(count):
    answer_lists(count, end.sends)


def answer_one(count):
    answer_lists(count, [single])


def make_ah(count):
    for _ in range(count):
        AH(end.pd, attr=end.own_address()).close()


def make_qp(count):
    for _ in range(count):
        end.make_qp().close()


ROUNDS = {f.__name__: f for f in (poll_empty, post_send, changed, answer, answer_one, make_ah, make_qp)}

for line in sys.stdin:
    name, count, parts = line.split()
    taken = []
    for _ in range(int(parts)):
        start = time.perf_counter_ns()
        ROUNDS[name](int(count))
        taken.append((time.perf_counter_ns() - start) / int(count))
    print(sorted(taken)[len(taken) // 2], flush=True)
