/** Messages that tell why another one came about. */

/**
 * The reason in the message of an error, without an action that is told already: after "Cannot connect to 10.0.0.1: " the
 * error "Cannot connect: nobody listens" says "nobody listens".
 */
export function reasonOf(error: unknown, action: string): string {
  const message = error instanceof Error ? error.message : String(error);
  const told = `Cannot ${action}: `;
  return message.startsWith(told) ? message.slice(told.length) : message;
}
