"""Small libraries, built on the spot, that change what the system does under our programs."""

import subprocess

# The DVM's key is 32 bytes of the system's chance, a daemon's ticket 8: here both are known.
KNOWN_KEY = b"key-of-the-DVM-known-to-the-test"
KNOWN_TICKET = 0x1122334455667788

KNOWN_CHANCE = r"""
#define _GNU_SOURCE
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

ssize_t getrandom(void* out, size_t size, unsigned flags) {
  unsigned long long ticket = 0x1122334455667788ULL;
  if (size == 32) return memcpy(out, "key-of-the-DVM-known-to-the-test", 32), 32;
  if (size == 8) return memcpy(out, &ticket, 8), 8;
  return syscall(SYS_getrandom, out, size, flags);
}
"""

# write() to a file whose name ends in .log does not come back while the file $STUCK_DISK exists.
STUCK_DISK = r"""
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

ssize_t write(int fd, const void* data, size_t size) {
  char link[64], path[4096];
  const char* stuck = getenv("STUCK_DISK");
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (stuck && length > 4 && memcmp(path + length - 4, ".log", 4) == 0)
    while (access(stuck, F_OK) == 0) usleep(10000);
  return syscall(SYS_write, fd, data, size);
}
"""


def build_shim(directory, name, source):
    """The path of a library for LD_PRELOAD."""
    text, library = directory / f"{name}.c", directory / f"{name}.so"
    text.write_text(source)
    subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-o", library, text], check=True)
    return library
