// Echoes by plain UDP sockets of the loopback device, both ends in this process: lists of datagrams are sent and received by one call each.
#include <arpa/inet.h>
#include <sys/socket.h>

struct end {
  int fd;
  char memory[LIST][SIZE];
  struct sockaddr_in peers[LIST];
  struct iovec parts[LIST];
  struct mmsghdr messages[LIST];
};

static void open_end(struct end *end, struct sockaddr_in *address)
{
  socklen_t length = sizeof *address;

  *address = (struct sockaddr_in){ .sin_family = AF_INET };
  address->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  end->fd = socket(AF_INET, SOCK_DGRAM, 0);
  need(!bind(end->fd, (struct sockaddr *)address, length), "bind a socket");
  need(!getsockname(end->fd, (struct sockaddr *)address, &length), "read the address of a socket");
  for (int i = 0; i < LIST; i++) {
    end->parts[i] = (struct iovec){ end->memory[i], SIZE };
    end->messages[i].msg_hdr = (struct msghdr){
      .msg_name = &end->peers[i], .msg_namelen = length, .msg_iov = &end->parts[i], .msg_iovlen = 1,
    };
  }
}

static void pass_on(struct end *from, struct end *to, int count)
{
  need(sendmmsg(from->fd, from->messages, count, 0) == count, "send datagrams");
  need(recvmmsg(to->fd, to->messages, count, 0, NULL) == count, "receive datagrams");
}

static double socket_echo(long count, int size)
{
  static struct end client, server;
  uint64_t start;
  long done = 0;

  if (!client.fd) {
    struct sockaddr_in own, address;

    open_end(&client, &own);
    open_end(&server, &address);
    for (int i = 0; i < LIST; i++)
      client.peers[i] = address;
  }
  start = now();
  for (; done < count; done += size) {
    pass_on(&client, &server, size);
    // each answer goes to the address that the request came from
    pass_on(&server, &client, size);
  }
  return (double)(now() - start) / done;
}

static double udp_echo(struct device *d, long count)
{
  (void)d;
  return socket_echo(count, 1);
}

static double udp_echo_list(struct device *d, long count)
{
  (void)d;
  return socket_echo(count, LIST);
}
