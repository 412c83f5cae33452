// Runs a program for which memfd_create(2) fails.
//
//   thunk_refuse ERRNO FLAGS PROGRAM ARGUMENT...    fails with ERRNO where any of FLAGS is asked for; 0 is always
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int count, char **words)
{
    if (count < 4) return 2;
    unsigned error = atoi(words[1]), flags = atoi(words[2]);
    // Little-endian: the low half of args[1].
    struct sock_filter program[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_memfd_create, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[1])),
        BPF_JUMP(flags ? BPF_JMP | BPF_JSET | BPF_K : BPF_JMP | BPF_JGE | BPF_K, flags, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {sizeof program / sizeof *program, program};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter)) {
        perror("prctl");
        return 2;
    }
    execvp(words[3], words + 3);
    perror(words[3]);
    return 2;
}
