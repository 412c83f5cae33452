/** What kind of request a completion is of: its `wrId`. Those of each kind complete in the order in which they were posted. */
export const [SEND, RECEIVE, CHECK] = [0, 1, 2] as const;
