export { NativeMemory } from "./native_memory.ts";
export { bufferAddress as addressOf } from "./pointers.ts";
