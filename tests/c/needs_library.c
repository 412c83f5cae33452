// A library that is linked with another one, and uses nothing of it.
int rdma_needs_library(void) { return 0; }
