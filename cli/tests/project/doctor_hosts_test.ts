// What doctor says of the way between two guests, which is healthy.
import { assertEquals } from "@std/assert";
import { runDeno } from "../../../tests/subprocess.ts";

const DOCTOR = "deno run -A --no-check cli/mod.ts doctor";
/**
 * Both hosts start at about the same time: status 3 means that the other doctor does not listen yet. It then tells of this
 * host alone, which is left out.
 */
const CONNECT =
  `until said=$(${DOCTOR} --peer host1); s=$?; [ $s != 3 ]; do sleep 1; done; echo "$said"; exit $s`;

Deno.test("doctor has no finding on two guests", async () => {
  const guests = ["tools/rxe.ts", "--hosts", "2", "sh", "-c", `${DOCTOR} --listen`, ":::"];
  const args = ["run", "-A", "--no-check", ...guests, "sh", "-c", CONNECT];
  const { code, stdout, stderr } = await runDeno(args);
  const found = stdout.match(/^host\d: (healthy|warning|broken): .*$/gm) ?? [];
  assertEquals(found.map((line) => line.slice(0, 14)).sort(), ["host1: healthy", "host2: healthy"]);
  assertEquals(code, 0, stderr);
});
