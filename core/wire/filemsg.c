/* SPDX-License-Identifier: MIT */
#include "wire/filemsg.h"

#include <errno.h>

uint8_t sbx_filemsg_code(int error) {
  switch (error) {
  case 0:
    return SBX_DONE_OK;
  case ENOENT:
    return SBX_DONE_NOT_FOUND;
  case EXDEV:
  case ENXIO:
  case EISDIR:
  case ENOTDIR:
  case ELOOP:
  case ENOTEMPTY:
  case EEXIST:
  case EACCES:
  case EPERM:
  case ENODEV:
    return SBX_DONE_PATH;
  case ENOMEM:
  case EMFILE:
  case ENFILE:
    return SBX_DONE_REFUSED;
  default:
    return SBX_DONE_FAILED;
  }
}

int sbx_filemsg_entry(struct sbx_buf *b, const struct stat *st,
                      struct sbx_str path, struct sbx_str target) {
  mode_t mode = st->st_mode;
  struct sbx_msg_entry e = {.type = 'o',
                            .mode = mode & 07777,
                            .size = (uint64_t)st->st_size,
                            .path = path};
  if (S_ISREG(mode))
    e.type = 'f';
  else if (S_ISDIR(mode))
    e.type = 'd';
  else if (S_ISLNK(mode))
    e.type = 'l';
  if (e.type == 'l')
    e.target = target;
  if (st->st_mtim.tv_sec >= 0)
    e.mtime_ms = (uint64_t)st->st_mtim.tv_sec * 1000 +
                 (uint64_t)st->st_mtim.tv_nsec / 1000000;

  size_t before = b->len;
  int rc = sbx_buf_append(b, "\0\0\0\0", 4); /* its length */
  if (rc == 0)
    rc = sbx_entry_encode(b, &e);
  if (rc == 0) {
    sbx_put_u32(b->data + before, (uint32_t)(b->len - before - 4));
    rc = sbx_buf_append(b, "", 1);
  }
  if (rc < 0)
    b->len = before;
  return rc;
}
