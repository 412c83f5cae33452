export { Waiters } from "../../internal/waiters.ts";
