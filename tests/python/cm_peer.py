# One end of a connection made with the CMID of pyverbs: the client sends a message, the server sends it back.
#
# cm_peer.py server|client HOST PORT
import sys

import older_enums
import pyverbs.cm_enums as ce
import pyverbs.enums as e
from pyverbs.cmid import AddrInfo, CMID, ConnParam
from pyverbs.qp import QPCap, QPInitAttr

SIZE = 64


def send(cmid, mr):
    cmid.post_send(mr, e.IBV_SEND_SIGNALED, SIZE)
    cmid.get_send_comp()


def client(host, port):
    address = AddrInfo(dst=host, dst_service=port, port_space=ce.RDMA_PS_TCP)
    cmid = CMID(creator=address, qp_init_attr=INIT)
    out, back = cmid.reg_msgs(SIZE), cmid.reg_msgs(SIZE)
    cmid.post_recv(back, SIZE)
    cmid.connect(ConnParam())
    out.write(b"from python".ljust(SIZE), SIZE)
    send(cmid, out)
    cmid.get_recv_comp()
    assert back.read(SIZE, 0) == out.read(SIZE, 0)
    cmid.disconnect()
    cmid.close()


def server(host, port):
    address = AddrInfo(src=host, src_service=port, port_space=ce.RDMA_PS_TCP, flags=ce.RAI_PASSIVE)
    listener = CMID(creator=address, qp_init_attr=INIT)
    listener.listen()
    cmid = listener.get_request()
    message = cmid.reg_msgs(SIZE)
    cmid.post_recv(message, SIZE)
    cmid.accept(ConnParam())
    cmid.get_recv_comp()
    send(cmid, message)
    cmid.disconnect()
    cmid.close()
    listener.close()


INIT = QPInitAttr(qp_type=e.IBV_QPT_RC, cap=QPCap(max_send_wr=2, max_recv_wr=2))
role, *where = sys.argv[1:]
{"client": client, "server": server}[role](*where)
