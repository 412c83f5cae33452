# The same work as in ../deno/connection.ts, with pyverbs.
import json
import sys
import time

from pyverbs.addr import AHAttr, GID, GlobalRoute
from pyverbs.cq import CQ
from pyverbs.device import Context, get_device_list
from pyverbs.enums import IBV_ACCESS_LOCAL_WRITE, IBV_MTU_1024, IBV_QPT_RC, IBV_SEND_SIGNALED, IBV_WC_SUCCESS, IBV_WR_SEND
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from pyverbs.wr import RecvWR, SGE, SendWR

PORT, TX_DEPTH, RX_DEPTH, TAIL, HALF, GROUP = 1, 128, 512, 2, 4096, 8


def check(wc):
    if wc.status != IBV_WC_SUCCESS:
        raise RuntimeError(f"completion status {wc.status}")


class Connection:
    def __init__(self, context):
        self.pd = PD(context)
        self.send_cq = CQ(context, TX_DEPTH)
        self.recv_cq = CQ(context, RX_DEPTH)
        self.mr = MR(self.pd, 2 * HALF, IBV_ACCESS_LOCAL_WRITE)
        cap = QPCap(TX_DEPTH, RX_DEPTH, 1, 1, 0)
        init = QPInitAttr(qp_type=IBV_QPT_RC, scq=self.send_cq, rcq=self.recv_cq, cap=cap)
        self.qp = QP(self.pd, init)
        self.qp.to_init(QPAttr(port_num=PORT))
        self.recv = RecvWR(0, num_sge=1, sg=[SGE(self.mr.buf + HALF, HALF, self.mr.lkey)])
        for _ in range(RX_DEPTH):
            self.qp.post_recv(self.recv)
        self.gid = context.query_gid(PORT, 0)

    def address(self):
        gid = self.gid.gid if isinstance(self.gid, GID) else self.gid
        return {"qpn": self.qp.qp_num, "gid": gid}

    def connect(self, remote):
        route = GlobalRoute(dgid=GID(remote["gid"]), sgid_index=0)
        route.hop_limit = 64
        attr = QPAttr(port_num=PORT)
        attr.dest_qp_num = remote["qpn"]
        attr.path_mtu = IBV_MTU_1024
        attr.max_dest_rd_atomic = attr.max_rd_atomic = 16
        attr.min_rnr_timer, attr.timeout, attr.retry_cnt, attr.rnr_retry = 12, 14, 7, 7
        attr.ah_attr = AHAttr(port_num=PORT, is_global=1, gr=route)
        self.qp.to_rts(attr)

    def wait(self, cq):
        while True:
            n, wcs = cq.poll(1)
            if n == 1:
                return check(wcs[0])

    def send_lat(self, client, size, count):
        sge = SGE(self.mr.buf, size, self.mr.lkey)
        wr = SendWR(0, num_sge=1, sg=[sge], opcode=IBV_WR_SEND, send_flags=IBV_SEND_SIGNALED)
        posted = []
        sent = received = 0
        while sent < count or received < count:
            if received < count and not (client and sent < 1):
                self.wait(self.recv_cq)
                self.qp.post_recv(self.recv)
                received += 1
            if sent < count:
                if sent % GROUP == 0:
                    posted.append(time.perf_counter_ns())
                sent += 1
                self.qp.post_send(wr)
                self.wait(self.send_cq)
        return half_round_trip(posted)


def half_round_trip(posted):
    samples = sorted(b - a for a, b in zip(posted, posted[1:]))[:-TAIL]
    return samples[len(samples) // 2] / GROUP / 2


connection = Connection(Context(name=get_device_list()[0].name.decode()))
print(json.dumps(connection.address()), flush=True)
connection.connect(json.loads(sys.stdin.readline()))
print("connected", flush=True)
for line in sys.stdin:
    role, size, count = line.split()
    if role == "server":
        print("ready", flush=True)
    print(connection.send_lat(role == "client", int(size), int(count)), flush=True)
