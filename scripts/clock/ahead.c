// ahead: moves the clock of a program that is not written in Go, for scripts/dates.sh.
//
// Preloaded (LD_PRELOAD), it has the system's clock be ahead by CLOCK_AHEAD_SECONDS of
// the environment, as scripts/clock-overlay.sh does for Go. Monotonic clocks stay as
// they are. It asks the kernel itself, so that it need not look for what it replaces.
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static time_t ahead;

__attribute__((constructor)) static void read_ahead(void)
{
	const char *text = getenv("CLOCK_AHEAD_SECONDS");
	ahead = text ? atoll(text) : 0;
}

int clock_gettime(clockid_t clock, struct timespec *at)
{
	int status = syscall(SYS_clock_gettime, clock, at);
	if (status == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
		at->tv_sec += ahead;
	return status;
}

int gettimeofday(struct timeval *restrict at, void *restrict zone)
{
	struct timespec now;
	int status = clock_gettime(CLOCK_REALTIME, &now);
	(void)zone;
	at->tv_sec = now.tv_sec;
	at->tv_usec = now.tv_nsec / 1000;
	return status;
}

time_t time(time_t *at)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	if (at)
		*at = now.tv_sec;
	return now.tv_sec;
}
