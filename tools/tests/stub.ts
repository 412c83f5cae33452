/** The kernel module that stands in for an RDMA adapter in the guest, built from tests/stub_hca. */

import { kernelHeaders } from "../guest/headers.ts";
import { ensureKernel } from "../guest/kernel.ts";
import { cache, inProject } from "../host/paths.ts";
import { say } from "../host/report.ts";
import { demand, exists } from "../host/shell.ts";

/** The module's file, built first when its sources or the kernel have changed. */
export async function buildStub(): Promise<string> {
  const sources = inProject("tests/stub_hca");
  const { version } = await ensureKernel();
  const folder = `${cache}/stub_hca/${await digest(version, sources)}`;
  const module = `${folder}/stub_hca.ko`;
  if (exists(module)) return module;
  const headers = await kernelHeaders();
  say("set-up: building the stub HCA's kernel module");
  if (exists(`${cache}/stub_hca`)) await Deno.remove(`${cache}/stub_hca`, { recursive: true });
  await demand("make", "-s", "-C", sources, `KDIR=${headers}`, `OUT=${folder}`);
  return module;
}

async function digest(version: string, folder: string): Promise<string> {
  const names = [...Deno.readDirSync(folder)].map((entry) => entry.name).sort();
  const texts = names.map((name) => `${name}\0${Deno.readTextFileSync(`${folder}/${name}`)}`);
  const bytes = new TextEncoder().encode([version, ...texts].join("\0"));
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)).toHex().slice(0, 16);
}
