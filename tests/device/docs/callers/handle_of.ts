import { assertEquals } from "@std/assert";
import type { AddressHandle, ProtectionDomain, QpAddress } from "../../../../mod.ts";
import { QpType } from "../../../../mod.ts";
import { gidOf, makeEnd, pairOf, PORT, QKEY, waitFor } from "../../setup.ts";

/** The functions of the snippet. */
export interface Snippet {
  handleOf(pd: ProtectionDomain, server: QpAddress): Promise<AddressHandle>;
}

/** Sends to a server whose address came as JSON. */
export default async function call({ handleOf }: Snippet): Promise<void> {
  using pair = pairOf((pd) => {
    const end = makeEnd(pd, QpType.UD);
    const { gidIndex } = gidOf(pd.context, "ipv4");
    end.qp.activateUd({ port: PORT, qkey: QKEY, gidIndex });
    return end;
  });
  const { left, right } = pair;
  right.qp.postRecv({ wrId: 5, sge: right.mr.slice(0, 100) });
  const server = JSON.parse(JSON.stringify(right.qp.address)) as QpAddress;
  using ah = await handleOf(pair.pd, server);
  left.qp.postSend({ sge: left.mr.slice(0, 8), ah, remoteQpn: server.qpn, remoteQkey: QKEY });
  const [wc] = await waitFor(right.cq);
  assertEquals([wc!.check().wrId, wc!.srcQp], [5n, left.qp.qpNum]);
  await waitFor(left.cq);
}
