// pinger QPN: sends datagrams to a queue pair of the same port until it is ended, far enough apart that the receiver falls
// asleep in between. Each carries the time at which it was posted.
#include <unistd.h>
#include "contender.h"

enum { PAUSE_MICROSECONDS = 3000 };

int main(int argc, char **argv)
{
  struct device d = open_device();
  struct ibv_cq *cq = create_cq(&d, BOTH, NULL);
  struct ibv_qp *qp = create_qp(&d, cq);
  struct ibv_ah *ah = create_own_ah(&d);
  struct ibv_send_wr wr, *bad;
  struct ibv_sge sge;
  struct ibv_wc wc;

  need(argc == 2, "read the queue pair's number");
  prepare_sends(&wr, &sge, &d, ah, strtoul(argv[1], NULL, 10), 1, 0);
  while (1) {
    uint64_t posted;

    usleep(PAUSE_MICROSECONDS);
    posted = now();
    memcpy(d.memory, &posted, sizeof posted);
    need(!ibv_post_send(qp, &wr, &bad), "post");
    while (ibv_poll_cq(cq, 1, &wc) == 0)
      ;
  }
}
