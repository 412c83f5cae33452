import { Deadline as Base } from "../../internal/deadline.ts";

/** A deadline in seconds. `what` begins the error message: "Nobody answered" becomes "Nobody answered within 10 s". */
export class Deadline extends Base {
  /** Starts the time. */
  constructor(seconds: number, what: string | (() => string)) {
    const late = (): Error =>
      new Error(`${typeof what === "string" ? what : what()} within ${seconds} s`);
    super(seconds * 1000, late);
  }
}
