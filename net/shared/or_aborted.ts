export { orAborted } from "../../internal/abort.ts";
