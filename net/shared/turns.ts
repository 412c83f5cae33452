export { nextTurn, Turns } from "../../internal/turns.ts";
