/* The lock of an engine that several threads use. Those who wait have it in the order in which they
 * came: a client that reads without end delays a run by one read, and a run that is late delays a
 * client by one batch. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "virtualnet.h"

struct vn_lock {
    pthread_mutex_t mutex; /* of the numbers */
    pthread_cond_t changed;
    uint64_t next, turn;
};

struct vn_lock *vn_lock_new(void)
{
    struct vn_lock *lock = calloc(1, sizeof *lock);
    if (lock == NULL) return NULL;
    pthread_mutex_init(&lock->mutex, NULL);
    pthread_cond_init(&lock->changed, NULL);
    return lock;
}

void vn_lock_free(struct vn_lock *lock)
{
    pthread_cond_destroy(&lock->changed);
    pthread_mutex_destroy(&lock->mutex);
    free(lock);
}

int vn_lock_take(struct vn_lock *lock, bool wait)
{
    pthread_mutex_lock(&lock->mutex);
    bool taken = wait || lock->turn == lock->next;
    if (taken) {
        uint64_t number = lock->next++;
        while (lock->turn != number) pthread_cond_wait(&lock->changed, &lock->mutex);
    }
    pthread_mutex_unlock(&lock->mutex);
    return taken ? 0 : -EBUSY;
}

void vn_lock_leave(struct vn_lock *lock)
{
    pthread_mutex_lock(&lock->mutex);
    lock->turn++;
    pthread_cond_broadcast(&lock->changed);
    pthread_mutex_unlock(&lock->mutex);
}
