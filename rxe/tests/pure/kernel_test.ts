// Which packages and modules are those of a kernel.

import { assertEquals, assertRejects } from "@std/assert";
import { neededModules, newestKernel } from "../../guest/kernel.ts";
import { neededBy } from "../../host/packages.ts";
import { SetupError } from "../../host/report.ts";
import { programs } from "./programs.ts";

Deno.test("neededModules() has what is wanted and what that depends on, compressed or not", () => {
  const dependencies = `kernel/fs/9p/9p.ko.xz: kernel/net/9p/9pnet.ko.xz kernel/fs/netfs/netfs.ko.xz
kernel/fs/ext4/ext4.ko.xz: kernel/lib/crc16.ko.xz
kernel/net/9p/9pnet.ko.xz:
kernel/drivers/net/dummy.ko:
`;
  assertEquals([...neededModules(dependencies)], [
    ...["kernel/fs/9p/9p.ko.xz", "kernel/net/9p/9pnet.ko.xz", "kernel/fs/netfs/netfs.ko.xz"],
    "kernel/drivers/net/dummy.ko",
  ]);
});

const DEPENDS = `linux-image-1
  Depends: linux-base-1
  Depends: <linux-initramfs-tool>
linux-base-1
linux-base
linux-modules-1
<linux-image-2>
kmod
`;

Deno.test("neededBy() follows what packages depend on, by names that match", async () => {
  await using ran = await programs({ "apt-cache": `printf '%s' '${DEPENDS}'` });
  const found = await neededBy("linux-image-1", /^linux-(base|modules)-\d/, ["-c", "conf"]);
  assertEquals(found, ["linux-image-1", "linux-base-1", "linux-modules-1"]);
  assertEquals(ran.calls(), [
    "apt-cache -c conf depends --recurse --no-recommends --no-suggests --no-conflicts " +
    "--no-breaks --no-replaces --no-enhances linux-image-1",
  ]);
});

/** What a release has: of 7.3 two versions, and others that are none of it. */
const NAMES = ["7.3.4+deb13-amd64", "7.3.10+deb13-amd64", "7.3.11+deb13-rt-amd64"]
  .concat("7.3.12+deb13-amd64-dbg", "7.30.1+deb13-amd64", "6.1.0-50-amd64", "amd64");

async function newestOf(names: readonly string[]): Promise<string> {
  const list = names.map((name) => `linux-image-${name}\\n`).join("");
  await using _ran = await programs({ "apt-cache": `printf '${list}'` });
  return await newestKernel("7.3", ["-c", "conf"]);
}

Deno.test("newestKernel() takes the newest of its name, or says which there are", async () => {
  assertEquals(await newestOf(NAMES), "linux-image-7.3.10+deb13-amd64");
  const message = "the release has no kernel 7.3 any more, only";
  const others = (): Promise<string> => newestOf(NAMES.slice(2));
  await assertRejects(others, SetupError, `${message} 6.1.0-50, 7.30.1+deb13`);
  await assertRejects(() => newestOf([]), SetupError, `${message} none`);
});
