/* The same as pmix_init for launchers that speak PMI-1: lines of text over a descriptor. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int fd;

/* Sends a line and takes one, which has to begin as expected. */
static int ask(const char *line, const char *expected) {
  if (write(fd, line, strlen(line)) != (ssize_t)strlen(line)) return 0;
  char answer[1024];
  size_t length = 0;
  while (length + 1 < sizeof answer && read(fd, answer + length, 1) == 1) {
    if (answer[length++] == '\n') break;
  }
  answer[length] = '\0';
  return strncmp(answer, expected, strlen(expected)) == 0;
}

int main(void) {
  const char *given = getenv("PMI_FD");
  if (given == NULL) return 1;
  fd = atoi(given);
  const int done = ask("cmd=init pmi_version=1 pmi_subversion=1\n", "cmd=response_to_init") &&
                   ask("cmd=barrier_in\n", "cmd=barrier_out") &&
                   ask("cmd=finalize\n", "cmd=finalize_ack");
  return done ? 0 : 1;
}
