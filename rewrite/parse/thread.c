#include <pthread.h>
#include <stdlib.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "_cgo_export.h"

static void *mbus_run(void *handle) {
	mbusParseThread((uintptr_t)handle);
	return 0;
}

/* Starts a thread with a stack of the given size that serves the struct behind handle; returns an errno. */
int mbus_start_thread(size_t stack, size_t guard, uintptr_t handle) {
	pthread_attr_t attr;
	pthread_t thread;
	int err = pthread_attr_init(&attr);
	if (err != 0) return err;
	err = pthread_attr_setstacksize(&attr, stack);
	if (err == 0) err = pthread_attr_setguardsize(&attr, guard);
	if (err == 0) err = pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	if (err == 0) err = pthread_create(&thread, &attr, mbus_run, (void *)handle);
	pthread_attr_destroy(&attr);
	return err;
}

/* Gives to the system what malloc keeps of what was freed. */
void mbus_return_memory(void) {
#ifdef __GLIBC__
	malloc_trim(0);
#endif
}
