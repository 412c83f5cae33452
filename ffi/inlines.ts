export { hasContextOp, hasContextOp as hasExtendedOp } from "./library/ops.ts";
