/* A host's link in memory: waking the other end, and being woken by it. */
#include "link.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/types.h>

void link_rang(struct link *link)
{
    char signs[64];
    ssize_t n;
    while ((n = recv(link->bell, signs, sizeof signs, MSG_DONTWAIT)) > 0) continue;
    if (n == 0 || (errno != EAGAIN && errno != EINTR)) link->bell = -1;
}

void link_ring(const struct link *link, uint64_t at_ns)
{
    /* the frames are there before the switch's sleep is looked at */
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    if (__atomic_load_n(&link->out->sleeps_until_ns, __ATOMIC_SEQ_CST) <= at_ns) return;
    ssize_t ignored = send(link->bell, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
    (void)ignored;
}

void link_announce(const struct link *link, uint64_t until_ns)
{
    if (link->in != NULL) __atomic_store_n(&link->in->sleeps_until_ns, until_ns, __ATOMIC_SEQ_CST);
}

void link_watch(const struct link *link, bool watched)
{
    if (link->in != NULL) __atomic_store_n(&link->in->watched, watched, __ATOMIC_RELAXED);
}
