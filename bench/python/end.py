# A queue pair, and requests for lists of messages to one of the same port. See ../c/base.h. Lists are chains of requests
# (next_wr), posted by one call.
from pyverbs.addr import AHAttr, AH, GlobalRoute
from pyverbs.cq import CQ
from pyverbs.device import Context, get_device_list
from pyverbs.enums import (
    IBV_ACCESS_LOCAL_WRITE, IBV_MTU_1024, IBV_QPT_RC, IBV_QPT_UD, IBV_SEND_SIGNALED, IBV_WC_SUCCESS, IBV_WR_SEND,
)
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from pyverbs.wr import RecvWR, SGE, SendWR

PORT, QKEY, LIST, GRH, SIZE, SLOT = 1, 0x11111111, 32, 40, 64, 128


def open_device():
    return Context(name=get_device_list()[0].name.decode())


def linked(requests):
    for request, following in zip(requests, requests[1:]):
        request.next_wr = following
    return requests


class End:
    def __init__(self, context, is_rc=False, channel=None):
        self.context, self.is_rc = context, is_rc
        self.pd = PD(context)
        self.mr = MR(self.pd, 2 * LIST * SLOT, IBV_ACCESS_LOCAL_WRITE)
        self.send_cq = CQ(context, 2 * LIST)
        self.recv_cq = CQ(context, 2 * LIST, None, channel)
        self.qp = self.make_qp()

    def make_qp(self):
        cap = QPCap(max_send_wr=2 * LIST, max_recv_wr=2 * LIST, max_send_sge=1, max_recv_sge=1)
        qp_type = IBV_QPT_RC if self.is_rc else IBV_QPT_UD
        return QP(self.pd, QPInitAttr(qp_type=qp_type, scq=self.send_cq, rcq=self.recv_cq, cap=cap))

    def own_address(self):
        route = GlobalRoute(dgid=self.context.query_gid(PORT, 0), sgid_index=0)
        route.hop_limit = 64
        return AHAttr(port_num=PORT, is_global=1, gr=route)

    def connect(self, remote):
        attr = QPAttr(port_num=PORT)
        if self.is_rc:
            attr.dest_qp_num, attr.path_mtu, attr.ah_attr = remote, IBV_MTU_1024, self.own_address()
            attr.max_dest_rd_atomic = attr.max_rd_atomic = 1
            attr.min_rnr_timer, attr.timeout, attr.retry_cnt, attr.rnr_retry = 12, 14, 7, 7
        else:
            attr.qkey = QKEY
        self.qp.to_rts(attr)
        self.ah = AH(self.pd, attr=self.own_address())
        self.sends = linked([self.send(i, remote) for i in range(LIST)])
        self.recvs = linked([RecvWR(i, num_sge=1, sg=[self.sge(LIST + i, SLOT)]) for i in range(LIST)])

    def sge(self, slot, size):
        return SGE(self.mr.buf + slot * SLOT, size, self.mr.lkey)

    def send(self, slot, remote):
        wr = SendWR(slot, num_sge=1, sg=[self.sge(slot, SIZE)], opcode=IBV_WR_SEND, send_flags=IBV_SEND_SIGNALED)
        if not self.is_rc:
            wr.set_wr_ud(self.ah, remote, QKEY)
        return wr


def poll(cq):
    n, wcs = cq.poll(LIST)
    for wc in wcs:
        if wc.status != IBV_WC_SUCCESS:
            raise RuntimeError(f"completion status {wc.status}")
    return n
