# What comes before the first reply, with pyverbs. It imports no more than it needs.
from pyverbs.addr import AHAttr, AH, GlobalRoute
from pyverbs.cq import CQ
from pyverbs.device import Context, get_device_list
from pyverbs.enums import IBV_ACCESS_LOCAL_WRITE, IBV_QPT_UD, IBV_SEND_SIGNALED, IBV_WR_SEND
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from pyverbs.wr import SGE, SendWR

PORT, QKEY, SIZE, RECEIVES = 1, 0x11111111, 64, 2

context = Context(name=get_device_list()[0].name.decode())
pd = PD(context)
mr = MR(pd, SIZE, IBV_ACCESS_LOCAL_WRITE)
cq = CQ(context, 1)
received = CQ(context, 1, comp_vector=RECEIVES)
attr = QPAttr(port_num=PORT)
attr.qkey = QKEY
cap = QPCap(max_send_wr=1, max_recv_wr=1, max_send_sge=1, max_recv_sge=1)
qp = QP(pd, QPInitAttr(qp_type=IBV_QPT_UD, scq=cq, rcq=cq, cap=cap), attr)
route = GlobalRoute(dgid=context.query_gid(PORT, 0), sgid_index=0)
ah = AH(pd, attr=AHAttr(port_num=PORT, is_global=1, gr=route))
send = SendWR(0, num_sge=1, sg=[SGE(mr.buf, SIZE, mr.lkey)], opcode=IBV_WR_SEND, send_flags=IBV_SEND_SIGNALED)
[wc] = received.poll(1)[1]
send.set_wr_ud(ah, wc.src_qp, QKEY)
qp.post_send(send)
cq.poll(1)
