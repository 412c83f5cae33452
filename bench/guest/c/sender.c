// sender QPN MICROSECONDS: sends datagrams to a queue pair of the same port, so far apart, until it is ended. Each carries the time at
// which it was posted.
#include "device.h"

int main(int argc, char **argv)
{
  struct device d = open_device();
  struct ibv_cq *cq = create_cq(&d, LIST, NULL);
  struct ibv_qp *qp = create_qp(&d, cq, cq);
  struct ibv_mr *mr = create_mr(&d, LIST * SLOT);
  struct ibv_send_wr wr[LIST], *bad;
  struct ibv_sge sge[LIST];
  struct ibv_wc wc;
  uint64_t next = now();

  need(argc == 3, "read the arguments");
  prepare_sends(wr, sge, mr, 0, LIST);
  wr[0].next = NULL;
  address(wr, create_ah(d.pd, 0, 0), strtoul(argv[1], NULL, 10));
  while (1) {
    struct timespec until;

    next += strtoul(argv[2], NULL, 10) * 1000;
    until = (struct timespec){ .tv_sec = next / 1000000000, .tv_nsec = next % 1000000000 };
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
    *(uint64_t *)mr->addr = now();
    need(!ibv_post_send(qp, wr, &bad), "post");
    while (ibv_poll_cq(cq, 1, &wc) == 0)
      ;
    need(wc.status == IBV_WC_SUCCESS, "complete");
  }
}
