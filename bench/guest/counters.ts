/** Reads what rxe0 counts: packets that were sent again, because the receiver was not ready or no answer came. */
export function countRetries(): number {
  const counters = ["completer_retry_err", "rcvd_rnr_err", "duplicate_request"];
  return counters.reduce(
    (sum, name) => sum + Number(Deno.readTextFileSync(`${FOLDER}/${name}`)),
    0,
  );
}

const FOLDER = "/sys/class/infiniband/rxe0/ports/1/hw_counters";
