// UDP over the loopback device, for pair.c. It polls the socket.
#pragma once
#include <arpa/inet.h>
#include <sys/socket.h>
#include "base.h"

static struct {
  int fd, is_server;
  // Of a server: whoever has sent something last.
  struct sockaddr_in peer;
} udp = { .fd = -1 };

// Returns the port.
static inline unsigned open_udp(int is_server)
{
  struct sockaddr_in own = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
  socklen_t length = sizeof own;

  udp.is_server = is_server;
  udp.peer = own;
  udp.fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
  need(udp.fd >= 0 && !bind(udp.fd, (void *)&own, sizeof own), "open a socket");
  need(!getsockname(udp.fd, (void *)&own, &length), "find its port");
  return ntohs(own.sin_port);
}

static inline int receive_udp(void)
{
  char room[SIZE];
  struct sockaddr_in sender;
  socklen_t length = sizeof sender;

  while (recvfrom(udp.fd, room, sizeof room, 0, udp.is_server ? (void *)&udp.peer : &sender, &length) < 0)
    need(errno == EAGAIN, "receive");
  return 1;
}

static inline void send_udp(int count)
{
  static const char message[SIZE];

  for (int i = 0; i < count; i++)
    need(sendto(udp.fd, message, SIZE, 0, (void *)&udp.peer, sizeof udp.peer) == SIZE, "send");
}
