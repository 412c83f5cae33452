import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import * as recorder from "../../provider/recorder.ts";
import { Gid, VerbsError } from "../../../mod.ts";
import {
  resolveEthL2FromGid,
  resolveEthL2FromGidAsync,
} from "../../../types/address_handle/resolve_eth_l2_from_gid.ts";
import { onPd } from "../recorded.ts";

const ATTR = { portNum: 1, grh: { dgid: Gid.parse("fd00::9"), sgidIndex: 1 } };

onPd.test("resolveEthL2FromGid() gives the link address and no VLAN", async ({ context }) => {
  for (const resolve of [resolveEthL2FromGid, resolveEthL2FromGidAsync]) {
    const { ethMac, vid } = await resolve(context, ATTR);
    assertEquals([ethMac.toHex(), vid], ["020000000007", undefined]);
    const { args } = recorder.takeOne("ibv_resolve_eth_l2_from_gid");
    assertEquals(args.context, "context0");
  }
});

for (const result of [-22n, -1n]) {
  onPd.test(`resolveEthL2FromGid() reads an error that is returned as ${result}`, async (recorded) => {
    const { context } = recorded;
    recorder.fail("ibv_resolve_eth_l2_from_gid", "EINVAL", { result });
    const errors = [
      assertThrows(() => resolveEthL2FromGid(context, ATTR), VerbsError),
      await assertRejects(() => resolveEthL2FromGidAsync(context, ATTR), VerbsError),
    ];
    for (const { verb, code } of errors) {
      assertEquals([verb, code], ["ibv_resolve_eth_l2_from_gid", "EINVAL"]);
    }
  });
}
