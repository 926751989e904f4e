/* SPDX-License-Identifier: MIT */
#include "supervisor/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/random.h"

#define CREDIT_MAX (1u << 31)
#define TEMP       ".anvia-"
#define TEMP_HEX   24

/* A READ or a WRITE. */
struct file {
  struct sbx_channel channel;
  struct sbx_turn turn;
  int fd;
  uint64_t at, left; /* READ: where; bytes that may still go or must come */
  uint32_t credit;
  struct sbx_place place;             /* WRITE: of the file to replace */
  char temp[sizeof(TEMP) + TEMP_HEX]; /* WRITE: the new one, in its place */
  mode_t mode;
};

static uint8_t code_of(int error) {
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

void sbx_files_done(uint32_t id, int rc, const char *text) {
  sbx_link_done(id, code_of(-rc), -rc, text);
}

int sbx_files_no_frame(struct sbx_channel *c, const struct sbx_frame *frame) {
  (void)c;
  (void)frame;
  return SBX_EPROTO;
}

static int find(struct sbx_place *at, struct sbx_str path, unsigned how) {
  return sbx_find(at, sbx_super.workspace, (const char *)path.data, how);
}

static int need_regular(const struct stat *st) {
  return S_ISREG(st->st_mode)   ? 0
         : st->st_mode == 0     ? -ENOENT
         : S_ISDIR(st->st_mode) ? -EISDIR
                                : -ENXIO;
}

static void file_free(struct file *f) {
  sbx_turn_drop(&f->turn);
  if (f->fd >= 0)
    close(f->fd);
  if (f->temp[0]) {
    sbx_user_enter();
    unlinkat(f->place.dir, f->temp, 0);
    sbx_user_leave();
  }
  sbx_place_close(&f->place);
  free(f);
}

static void file_end(struct file *f, int rc) {
  uint32_t id = f->channel.id;
  sbx_channel_close(&f->channel);
  file_free(f);
  sbx_files_done(id, rc, "");
}

static void on_forget(struct sbx_channel *c) {
  file_free(SBX_LIST_OWNER(c, struct file, channel));
}

static void read_take(struct sbx_turn *t) {
  struct file *f = SBX_LIST_OWNER(t, struct file, turn);
  size_t want = SBX_FRAME_DATA_MAX;
  if (want > f->left)
    want = (size_t)f->left;
  if (want > f->credit)
    want = f->credit;
  struct sbx_buf *b = sbx_link_begin();
  ssize_t n = sbx_buf_reserve(b, 1 + SBX_FRAME_DATA_MAX);
  if (n == 0 && f->left > 0) { /* without credit, is there more? */
    b->data[b->len] = SBX_MSG_STDOUT;
    n = pread(f->fd, b->data + b->len + 1, want > 0 ? want : 1, (off_t)f->at);
    n = n < 0 ? -errno : n;
  }
  if (n > 0 && want == 0) {
    sbx_link_cancel();
    return;
  }
  if (n > 0) {
    b->len += 1 + (size_t)n;
    sbx_link_end(f->channel.id, SBX_MSG_DATA);
    f->at += (uint64_t)n;
    f->left -= (uint64_t)n;
    f->credit -= (uint32_t)n;
  } else {
    sbx_link_cancel();
  }
  if (n < 0 || (size_t)n < want || f->left == 0)
    file_end(f, n < 0 ? (int)n : 0);
  else
    sbx_turn_queue(t);
}

static int read_frame(struct sbx_channel *c, const struct sbx_frame *frame) {
  struct file *f = SBX_LIST_OWNER(c, struct file, channel);
  uint8_t stream;
  uint32_t more;
  if (frame->type != SBX_MSG_CREDIT ||
      sbx_read_credit(frame, &stream, &more) < 0 || stream != SBX_MSG_STDOUT ||
      more > CREDIT_MAX - f->credit)
    return SBX_EPROTO;
  f->credit += more;
  sbx_turn_queue(&f->turn);
  return 0;
}

static int write_data(struct file *f, const struct sbx_frame *frame) {
  size_t done = 1; /* the stream's number */
  if (frame->skipped)
    return -ENOMEM;
  if (frame->len - 1 > f->left)
    return -EMSGSIZE;
  while (done < frame->len) {
    ssize_t n = write(f->fd, frame->data + done, frame->len - done);
    if (n < 0 && errno != EINTR)
      return -errno;
    done += n < 0 ? 0 : (size_t)n;
  }
  f->left -= frame->len - 1;
  return 0;
}

static int write_end(struct file *f) {
  int dir = f->place.dir;
  if (f->left > 0)
    return -EMSGSIZE;
  if (fchmod(f->fd, f->mode) < 0 ||
      renameat(dir, f->temp, dir, f->place.name) < 0)
    return -errno;
  f->temp[0] = '\0';
  return 0;
}

static int write_frame(struct sbx_channel *c, const struct sbx_frame *frame) {
  struct file *f = SBX_LIST_OWNER(c, struct file, channel);
  bool data = frame->type == SBX_MSG_DATA;
  uint8_t stream;
  if ((!data && frame->type != SBX_MSG_EOF) ||
      sbx_read_stream(frame, &stream) < 0 || stream != SBX_MSG_STDIN ||
      (data && frame->len == 1))
    return SBX_EPROTO;
  sbx_user_enter();
  int rc = data ? write_data(f, frame) : write_end(f);
  sbx_user_leave();
  if (rc < 0 || !data)
    file_end(f, rc);
  else
    sbx_link_credit(c->id, SBX_MSG_STDIN, (uint32_t)frame->len - 1);
  return 0;
}

static const struct sbx_channel_ops read_ops = {read_frame, on_forget};
static const struct sbx_channel_ops write_ops = {write_frame, on_forget};

/* What is opened is judged before, since to open a FIFO or a device can mean
 * something, and after, since it may be another one by then. */
static int read_open(struct file *f, uint32_t id,
                     const struct sbx_msg_file *m) {
  struct sbx_place *at = &f->place;
  int rc = need_regular(&at->st);
  if (rc < 0)
    return rc;
  f->fd = openat(at->dir, at->name,
                 O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (f->fd < 0 || fstat(f->fd, &at->st) < 0)
    return -errno;
  rc = need_regular(&at->st);
  if (rc < 0)
    return rc;
  f->at = m->offset;
  f->left = m->offset < (uint64_t)at->st.st_size ? m->length : 0;
  f->credit = m->credit;
  f->turn.take = read_take;
  f->turn.sends = true;
  sbx_entry_send(id, at->dir, at->name, &at->st);
  sbx_turn_queue(&f->turn);
  return 0;
}

static int write_open(struct file *f, const struct sbx_msg_file *m) {
  struct sbx_place *at = &f->place;
  char temp[sizeof(f->temp)] = TEMP;
  int rc = need_regular(&at->st);
  if (rc < 0 && rc != -ENOENT)
    return rc;
  f->mode = rc < 0 ? 0644 : at->st.st_mode & 0777;
  if (m->flags & SBX_FILE_MODE)
    f->mode = m->mode & 0777;
  f->left = m->length;
  rc = sbx_random_hex(temp + strlen(TEMP), TEMP_HEX);
  if (rc < 0)
    return rc;
  f->fd = openat(at->dir, temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (f->fd < 0)
    return -errno;
  memcpy(f->temp, temp, sizeof(temp));
  return 0;
}

static int file_start(uint32_t id, const struct sbx_msg_file *m) {
  bool reads = m->verb == SBX_FILE_READ;
  struct file *f = calloc(1, sizeof(*f));
  if (!f)
    return -ENOMEM;
  f->fd = -1;
  int rc =
      find(&f->place, m->path,
           SBX_FIND_FOLLOW | (m->flags & SBX_FILE_PARENTS ? SBX_FIND_MAKE : 0));
  if (rc == 0)
    rc = reads ? read_open(f, id, m) : write_open(f, m);
  if (rc < 0) {
    file_free(f); /* there is no new file yet */
    return rc;
  }
  sbx_channel_open(&f->channel, id, reads ? &read_ops : &write_ops);
  return 1;
}

static int make_directory(const struct sbx_msg_file *m) {
  struct sbx_place at;
  char path[PATH_MAX + 2];
  if (m->path.len >= PATH_MAX)
    return -ENAMETOOLONG;
  stpcpy(stpcpy(path, (const char *)m->path.data), "/.");
  int rc = sbx_find(&at, sbx_super.workspace, path, SBX_FIND_MAKE);
  if (rc < 0)
    return rc;
  if ((m->flags & SBX_FILE_MODE) &&
      fchmodat(at.dir, ".", m->mode & 0777, 0) < 0)
    rc = -errno;
  sbx_place_close(&at);
  return rc;
}

static int rename_to(const struct sbx_place *from, const struct sbx_place *to) {
  bool same = to->st.st_mode && sbx_same_file(&from->st, &to->st);
  struct stat a, b;
  if (same && strcmp(from->name, to->name) == 0 && fstat(from->dir, &a) == 0 &&
      fstat(to->dir, &b) == 0 && sbx_same_file(&a, &b))
    return 0;
  if (S_ISDIR(to->st.st_mode))
    return -EISDIR;
  if (S_ISDIR(from->st.st_mode) && S_ISLNK(to->st.st_mode))
    unlinkat(to->dir, to->name, 0);
  if (renameat(from->dir, from->name, to->dir, to->name) < 0)
    return -errno;
  if (same) /* two names of one file: that has done nothing */
    unlinkat(from->dir, from->name, 0);
  return 0;
}

/* What is done to an entry itself, at once. */
static int entry_start(uint32_t id, const struct sbx_msg_file *m,
                       const char **text) {
  bool link = m->verb == SBX_FILE_SYMLINK;
  struct sbx_place at, to;
  int rc = find(&at, m->path,
                link && (m->flags & SBX_FILE_PARENTS) ? SBX_FIND_MAKE : 0);
  if (rc < 0)
    return rc;
  if (link) {
    rc = symlinkat((const char *)m->other.data, at.dir, at.name);
  } else if (at.st.st_mode == 0) {
    errno = ENOENT;
    rc = -1;
  } else if (m->verb == SBX_FILE_STAT) {
    sbx_entry_send(id, at.dir, at.name, &at.st);
  } else if (m->verb == SBX_FILE_RENAME) {
    *text = "to";
    rc = find(&to, m->other, 0);
    if (rc == 0) {
      rc = rename_to(&at, &to);
      sbx_place_close(&to);
    }
    errno = -rc;
  } else {
    rc = unlinkat(at.dir, at.name, S_ISDIR(at.st.st_mode) ? AT_REMOVEDIR : 0);
    if (rc < 0 && errno == ENOTEMPTY && (m->flags & SBX_FILE_RECURSIVE)) {
      rc = sbx_remove_start(id, &at);
      errno = -rc;
    }
  }
  rc = rc < 0 ? -errno : rc;
  sbx_place_close(&at);
  return rc;
}

static int start(uint32_t id, const struct sbx_msg_file *m, const char **text) {
  switch (m->verb) {
  case SBX_FILE_READ:
  case SBX_FILE_WRITE:
    return file_start(id, m);
  case SBX_FILE_LIST:
    return sbx_list_start(id, m);
  case SBX_FILE_MKDIR:
    return make_directory(m);
  case SBX_FILE_WATCH:
    return sbx_watch_start(id, m);
  case SBX_FILE_STAT:
  case SBX_FILE_REMOVE:
  case SBX_FILE_RENAME:
  case SBX_FILE_SYMLINK:
    return entry_start(id, m, text);
  default:
    return -EINVAL;
  }
}

void sbx_files_start(uint32_t id, const struct sbx_msg_file *m) {
  const char *text = "";
  sbx_user_enter();
  int rc = start(id, m, &text);
  sbx_user_leave();
  if (rc <= 0)
    sbx_files_done(id, rc, rc < 0 ? text : "");
}
