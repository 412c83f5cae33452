// What the environment makes libibverbs load where there is a device: it asks Deno for nothing.

import { assertEquals, assertStringIncludes } from "@std/assert";
import { compileC } from "../../c/compile.ts";
import { outputOf } from "../../subprocess.ts";
import { deviceTest, RXE } from "../setup.ts";

/** The end of the names of drivers, such as `rdmav34.so`. */
function suffixOfDrivers(): string {
  const folder = `/usr/lib/${Deno.build.arch}-linux-gnu/libibverbs`;
  const [driver] = [...Deno.readDirSync(folder)].filter(({ name }) => /-rdmav\d+\.so$/.test(name));
  return driver!.name.replace(/^.*-/, "");
}

deviceTest("RDMAV_DRIVERS loads any driver with --allow-ffi alone", async () => {
  const folder = await Deno.makeTempDir();
  const driver = await compileC("../device/permissions/driver.c", ["-shared", "-fPIC"]);
  await Deno.copyFile(driver, `${folder}/chosen-${suffixOfDrivers()}`);
  const script = `
  import { listDevices } from MOD;
  console.log(listDevices().map(({ name }) => name).join());`;
  const permissions = ["--allow-ffi"];
  assertEquals((await outputOf(script, { permissions })).split(",").includes(RXE), true);
  const env = { RDMAV_DRIVERS: `${folder}/chosen` };
  assertStringIncludes(await outputOf(script, { permissions, env }), "the driver is loaded");
  await Deno.remove(folder, { recursive: true });
});
