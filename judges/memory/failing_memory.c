/* Counts requests for memory, and refuses the n-th. */
#include <errno.h>
#include <stdatomic.h>

static atomic_long requests, refused, last;

/* From now on the requests number `first` to `end` are refused, counted from 1; 0: none. */
void memory_refuse(long first, long end)
{
    requests = 0;
    refused = first;
    last = end;
}

long memory_requests(void) { return requests; }

int memory_fails(void)
{
    long number = atomic_fetch_add(&requests, 1) + 1;
    if (number < refused || number > last) return 0;
    errno = ENOMEM;
    return 1;
}
