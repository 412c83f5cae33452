// Functions for thunks to lead to. Each takes note of a misaligned stack and leaves garbage in every register that a
// callee may change, so that a thunk which relies on one is found out.
#include <errno.h>
#include <stdint.h>
#include <unistd.h>

#if defined(__x86_64__)
#define TRASH                                                                 \
    __asm__ volatile("mov $-1, %%rcx\n mov %%rcx, %%rdx\n mov %%rcx, %%rsi\n" \
                     "mov %%rcx, %%rdi\n mov %%rcx, %%r8\n mov %%rcx, %%r9\n" \
                     "mov %%rcx, %%r10\n mov %%rcx, %%r11"                    \
                     ::: "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11")
#elif defined(__aarch64__)
#define TRASH                                                             \
    __asm__ volatile(".irp n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17\n" \
                     "mov x\\n, #-1\n"                                    \
                     ".endr"                                              \
                     ::: "x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", \
                         "x13", "x14", "x15", "x16", "x17")
#endif

// Since the start, on all threads.
static int misaligned;

#define NOTE_STACK                                        \
    if ((uintptr_t)__builtin_frame_address(0) % 16 != 0)  \
        __atomic_add_fetch(&misaligned, 1, __ATOMIC_RELAXED)

int misaligned_calls(void) { return __atomic_load_n(&misaligned, __ATOMIC_RELAXED); }

// Mixes n arguments into one number, and sets errno to its lowest byte if that is odd.
#define MIX(n, parameters, ...)                                            \
    uint64_t mix##n parameters                                             \
    {                                                                      \
        NOTE_STACK;                                                        \
        const uint64_t values[] = {__VA_ARGS__};                           \
        uint64_t mixed = n;                                                \
        for (int i = 1; i <= n; i++) mixed = mixed * 0x9e3779b97f4a7c15 + values[i]; \
        if (mixed & 1) errno = mixed & 0xff;                               \
        TRASH;                                                             \
        return mixed;                                                      \
    }

typedef uint64_t u;
MIX(0, (void), 0)
MIX(1, (u a), 0, a)
MIX(2, (u a, u b), 0, a, b)
MIX(3, (u a, u b, u c), 0, a, b, c)
MIX(4, (u a, u b, u c, u d), 0, a, b, c, d)
MIX(5, (u a, u b, u c, u d, u e), 0, a, b, c, d, e)
MIX(6, (u a, u b, u c, u d, u e, u f), 0, a, b, c, d, e, f)
MIX(7, (u a, u b, u c, u d, u e, u f, u g), 0, a, b, c, d, e, f, g)

int set_errno(int value)
{
    errno = value;
    return 0;
}

// A verb in two ways of reporting: -1 and errno, or NULL and errno.
int fail(int value)
{
    errno = value;
    return -1;
}

void *refuse(int value)
{
    errno = value;
    return 0;
}

void *same(void *pointer) { return pointer; }

// Sleeps before it fails, so that calls on several threads overlap.
int fail_late(unsigned microseconds, int value)
{
    errno = -value;
    usleep(microseconds);
    errno = value;
    return -value;
}
