/** The kernel module that stands in for an RDMA adapter in the guest, built from tests/stub_hca. */

import { kernelHeaders } from "../guest/headers.ts";
import { ensureKernel } from "../guest/kernel.ts";
import { cached } from "../host/cached.ts";
import { inProject } from "../host/paths.ts";
import { say } from "../host/report.ts";
import { demand } from "../host/shell.ts";

const MODULE = "stub_hca.ko";

/** A command that runs with the stub HCA beside the guest's own device. */
export async function withStub(command: readonly string[]): Promise<string[]> {
  return ["sh", inProject("tools/tests/device_session.sh"), await buildStub(), ...command];
}

/** The module's file, built first when its sources or the kernel have changed. */
async function buildStub(): Promise<string> {
  const sources = inProject("tests/stub_hca");
  const { version } = await ensureKernel();
  const folder = await cached(`stub_hca/${await digest(version, sources)}`, async (partial) => {
    const headers = await kernelHeaders();
    say("set-up: building the stub HCA's kernel module");
    await removeOthers(partial);
    await buildModule(sources, headers, `${partial}/${MODULE}`);
  });
  return `${folder}/${MODULE}`;
}

/**
 * Builds the module in a temporary folder.
 *
 * @param headers the folder of linux-headers-VERSION, with the others beside it.
 */
export async function buildModule(
  sources: string,
  headers: string,
  target: string,
): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "ibverbs-module-" });
  try {
    const kernel = await withoutSpaces(headers, `${folder}/headers`);
    await demand("make", "-s", "-C", sources, `KDIR=${kernel}`, `OUT=${folder}/module`);
    await Deno.copyFile(`${folder}/module/${MODULE}`, target);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** The kernel's makefiles refuse a path with a space or a colon, a link to one too. */
async function withoutSpaces(headers: string, copy: string): Promise<string> {
  if (!/[\s:]/.test(headers)) return headers;
  // The headers have links to ../../lib.
  const [, usr, below] = headers.match(/(.*)(\/[^/]*\/[^/]*)$/)!;
  await demand("cp", "-a", usr!, copy);
  return copy + below;
}

/** Removes what earlier sources were built to. */
async function removeOthers(kept: string): Promise<void> {
  const folder = kept.slice(0, kept.lastIndexOf("/"));
  for (const { name } of [...Deno.readDirSync(folder)]) {
    // Another process may be making a partial one just now.
    if (!/\.(partial|lock)$/.test(name)) {
      await Deno.remove(`${folder}/${name}`, { recursive: true });
    }
  }
}

async function digest(kernel: string, folder: string): Promise<string> {
  const names = [...Deno.readDirSync(folder)].map((entry) => entry.name).sort();
  const texts = names.map((name) => `${name}\0${Deno.readTextFileSync(`${folder}/${name}`)}`);
  const bytes = new TextEncoder().encode([kernel, ...texts].join("\0"));
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)).toHex().slice(0, 16);
}
