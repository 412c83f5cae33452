# An RC peer made with pyverbs. It exchanges addresses, serves the other side's RDMA, and then does the
# same in the other direction. Each message of the exchange is one line of JSON, on its
# input and output.
#
# rc_peer.py DEVICE GID_INDEX
import json
import sys

from pyverbs.addr import AHAttr, GID, GlobalRoute
from pyverbs.cq import CQ
from pyverbs.device import Context
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from pyverbs.wr import RecvWR, SGE, SendWR

import older_enums
import pyverbs.enums as e

PORT, PSN, SIZE = 1, 100, 4096
ACCESS = (e.IBV_ACCESS_LOCAL_WRITE | e.IBV_ACCESS_REMOTE_WRITE | e.IBV_ACCESS_REMOTE_READ |
          e.IBV_ACCESS_REMOTE_ATOMIC)


class Peer:
    def __init__(self, device, gid_index):
        self.gid_index = gid_index
        self.context = Context(name=device)
        self.pd = PD(self.context)
        self.cq = CQ(self.context, 16)
        self.mr = MR(self.pd, SIZE, ACCESS)
        cap = QPCap(max_send_wr=4, max_recv_wr=4, max_send_sge=1, max_recv_sge=1)
        init = QPInitAttr(qp_type=e.IBV_QPT_RC, scq=self.cq, rcq=self.cq, cap=cap)
        self.attr = QPAttr(port_num=PORT)
        self.attr.qp_access_flags = ACCESS
        self.qp = QP(self.pd, init, self.attr)

    def address(self):
        gid = self.context.query_gid(PORT, self.gid_index)
        return {"qpn": self.qp.qp_num, "gid": str(gid), "addr": str(self.mr.buf), "rkey": self.mr.rkey}

    def connect(self, remote):
        self.remote = remote
        route = GlobalRoute(dgid=GID(remote["gid"]), sgid_index=self.gid_index)
        route.hop_limit = 64
        attr = QPAttr(port_num=PORT)
        attr.qp_access_flags = ACCESS
        attr.ah_attr = AHAttr(port_num=PORT, is_global=1, gr=route)
        attr.dest_qp_num = remote["qpn"]
        attr.path_mtu = e.IBV_MTU_1024
        attr.rq_psn = attr.sq_psn = PSN
        attr.max_rd_atomic = attr.max_dest_rd_atomic = 4
        attr.min_rnr_timer, attr.timeout, attr.retry_cnt, attr.rnr_retry = 12, 14, 7, 7
        self.qp.to_rts(attr)

    def complete(self):
        while True:
            count, completions = self.cq.poll(1)
            if count:
                if completions[0].status != e.IBV_WC_SUCCESS:
                    raise RuntimeError(f"completion status {completions[0].status}")
                return completions[0]

    def request(self, opcode, offset, length, remote_offset, atomic=None):
        sge = SGE(self.mr.buf + offset, length, self.mr.lkey)
        wr = SendWR(1, num_sge=1, sg=[sge], opcode=opcode, send_flags=e.IBV_SEND_SIGNALED)
        address = int(self.remote["addr"]) + remote_offset
        if atomic is not None:
            wr.set_wr_atomic(self.remote["rkey"], address, *atomic)
        elif opcode != e.IBV_WR_SEND:
            wr.set_wr_rdma(self.remote["rkey"], address)
        self.qp.post_send(wr)
        self.complete()

    def read_u64(self, offset):
        return int.from_bytes(self.mr.read(8, offset), "little")


def main(device, gid_index):
    peer = Peer(device, int(gid_index))

    def tell(value):
        print(json.dumps(value), flush=True)

    tell(peer.address())
    peer.connect(json.loads(sys.stdin.readline()))
    peer.mr.write(b"python".ljust(16), 16, 256)
    peer.mr.write((40).to_bytes(8, "little"), 8, 512)
    peer.qp.post_recv(RecvWR(2, num_sge=1, sg=[SGE(peer.mr.buf + 2048, 64, peer.mr.lkey)]))
    tell("ready")

    # The other side writes to offset 0, reads offset 256, adds to and swaps offset 512, and sends a message.
    received = peer.complete()
    sys.stdin.readline()
    tell({
        "written": peer.mr.read(16, 0).decode(),
        "counter": peer.read_u64(512),
        "message": peer.mr.read(received.byte_len, 2048).decode(),
    })

    sys.stdin.readline()
    peer.mr.write(b"from python".ljust(16), 16, 1024)
    peer.request(e.IBV_WR_RDMA_WRITE, 1024, 16, 0)
    peer.request(e.IBV_WR_RDMA_READ, 1040, 16, 256)
    peer.request(e.IBV_WR_ATOMIC_FETCH_AND_ADD, 1056, 8, 512, atomic=(5, 0))
    peer.request(e.IBV_WR_ATOMIC_CMP_AND_SWP, 1064, 8, 512, atomic=(45, 77))
    peer.request(e.IBV_WR_SEND, 1024, 11, 0)
    tell({
        "read": peer.mr.read(16, 1040).decode(),
        "fetched": peer.read_u64(1056),
        "swapped": peer.read_u64(1064),
    })
    sys.stdin.readline()


main(*sys.argv[1:])
