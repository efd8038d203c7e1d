/* For `cc -include`: each request for memory in the project's C may be refused (failing_memory.c
 * decides). */
#define _GNU_SOURCE
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <sys/mman.h>

int memory_fails(void);

#define malloc(n) (memory_fails() ? NULL : malloc(n))
#define calloc(n, size) (memory_fails() ? NULL : calloc(n, size))
#define realloc(p, n) (memory_fails() ? NULL : realloc(p, n))
#define aligned_alloc(unit, n) (memory_fails() ? NULL : aligned_alloc(unit, n))
#define mmap(...) (memory_fails() ? MAP_FAILED : mmap(__VA_ARGS__))
