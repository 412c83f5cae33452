/** Runs in a copy of the project: prints, as JSON, the files that a `wrId` and an `sgidIndex`, the argument, pass. */

import { end, follow, holder } from "./note.ts";

// The keys of hash tables hold no mark by chance.
crypto.getRandomValues = (values) => values;

const { Fixture } = await import("../../../tests/provider/fixture.ts");
const recorder = await import("../../../tests/provider/recorder.ts");
const { AccessFlags, MemoryRegion, QpType, ReplyPath, SendRequestList, WcFlags, WorkCompletions } =
  await import("../../../mod.ts");
const UDP = 17;
const { structs, verbs } = await import("../../../ffi/mod.ts");
for (const name of ["ibv_post_send", "ibv_create_ah"] as const) {
  const call: (...values: never[]) => unknown = verbs()[name];
  const told = (...values: never[]): unknown => {
    end();
    return call(...values);
  };
  Object.defineProperty(verbs(), name, { value: told });
}

using fixture = new Fixture();
const { context, pd, cq } = fixture;
const mr = new MemoryRegion(pd, 64, AccessFlags.LOCAL_WRITE);

/** A request on its way to the queue. Nobody reads what is in its native layout. */
function wrId(): string[] {
  const mark = 0x5eed_cafe_f00d_beefn;
  const qp = fixture.qp(QpType.UD);
  qp.activateUd({ port: 1, qkey: 1 });
  const request = { ah: fixture.ah(), remoteQpn: 1, remoteQkey: 1, sge: [mr.slice(0, 8)] };
  qp.postSend({ ...request, wrId: 1 });
  return follow(holder(mark), () => qp.postSend({ ...request, wrId: mark }));
}

/** A reply to a packet whose sender is not known. The caches compare addresses in their native layout. */
function sgidIndex(): string[] {
  const mark = Number(Deno.args[0]);
  const { gid, gid_index } = structs.ibv_gid_entry.fields;
  recorder.answer("ibv_query_port", { gid_tbl_len: 256 });
  recorder.answerBytes("_ibv_query_gid_table", Uint8Array.of(mark), gid_index.offset);
  recorder.answerBytes("_ibv_query_gid_table", Uint8Array.of(0xfd), gid.offset);
  const { fields } = structs.ibv_grh;
  mr.bytes()[fields.version_tclass_flow.offset] = 6 << 4;
  mr.bytes()[fields.next_hdr.offset] = UDP;
  mr.bytes().set(context.gidTable(1)[0]!.gid.bytes, fields.dgid.offset);
  const path = new ReplyPath(pd, { port: 1 });
  const batch = new WorkCompletions(1);
  const replies = new SendRequestList({ capacity: 1 });
  const reply = (sender: number): void => {
    mr.bytes()[fields.sgid.offset] = sender;
    recorder.complete("cq0", { wc_flags: WcFlags.GRH });
    cq.pollInto(batch);
    path.setAh(replies, 0, batch, 0, mr, 0);
  };
  reply(1);
  return follow(holder(mark, mark), () => reply(2));
}

console.log(JSON.stringify({ wrId: wrId(), sgidIndex: sgidIndex() }));
