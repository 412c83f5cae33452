/** The kernel module that stands in for an RDMA adapter in the guest, built from tests/stub_hca. */

import { kernelHeaders } from "../guest/headers.ts";
import { cached } from "../host/cached.ts";
import { inProject } from "../host/paths.ts";
import { say } from "../host/report.ts";
import { demand } from "../host/shell.ts";

/** A command that runs with the stub HCA beside the guest's own device. */
export async function withStub(command: readonly string[]): Promise<string[]> {
  return ["sh", inProject("tools/tests/device_session.sh"), await buildStub(), ...command];
}

/** The module's file, built first when its sources or the kernel have changed. */
async function buildStub(): Promise<string> {
  const sources = inProject("tests/stub_hca");
  const headers = await kernelHeaders();
  const key = await digest(headers, sources);
  const folder = await cached(`stub_hca/${key}`, async (partial) => {
    say("set-up: building the stub HCA's kernel module");
    await removeOthers(partial);
    await demand("make", "-s", "-C", sources, `KDIR=${headers}`, `OUT=${partial}`);
  });
  return `${folder}/stub_hca.ko`;
}

/** Removes what earlier sources were built to. */
async function removeOthers(kept: string): Promise<void> {
  const folder = kept.slice(0, kept.lastIndexOf("/"));
  for (const entry of [...Deno.readDirSync(folder)]) {
    const path = `${folder}/${entry.name}`;
    if (path !== kept) await Deno.remove(path, { recursive: true });
  }
}

async function digest(headers: string, folder: string): Promise<string> {
  const names = [...Deno.readDirSync(folder)].map((entry) => entry.name).sort();
  const texts = names.map((name) => `${name}\0${Deno.readTextFileSync(`${folder}/${name}`)}`);
  const bytes = new TextEncoder().encode([headers, ...texts].join("\0"));
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)).toHex().slice(0, 16);
}
