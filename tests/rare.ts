/**
 * A number of repetitions: few show what the test is about, and `deno task long rare` has time for many, which find what
 * happens seldom.
 */
export function repetitions(few: number, many: number): number {
  return Deno.env.get("IBVERBS_RARE") === undefined ? few : many;
}
