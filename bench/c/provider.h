// What polling finds in a queue of provider.c, by the completion vector that it was made with.
enum vector {
  // As many completions of sends as fit, of all queue pairs made with the queue in turn.
  QUEUE_SENDS,
  // Nothing.
  QUEUE_EMPTY,
  // As many completions of received datagrams as fit.
  QUEUE_RECEIVES,
  QUEUE_VECTORS,
};
