/* SPDX-License-Identifier: MIT */
#include "supervisor/files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "os/place.h"
#include "wire/filemsg.h"

#define CREDIT_MAX (1u << 31)

/* A READ or a WRITE. */
struct file {
  struct sbx_channel channel;
  struct sbx_turn turn;
  int fd;
  uint64_t at, left; /* READ: where; bytes that may still go or must come */
  uint32_t credit;
  struct sbx_place place;    /* of the file that is read or replaced */
  char temp[SBX_PLACE_TEMP]; /* WRITE: the new one beside it */
  mode_t mode;
};

void sbx_files_done(uint32_t id, int rc, const char *text) {
  sbx_link_done(id, sbx_filemsg_code(-rc), -rc, text);
}

static int find(struct sbx_place *at, struct sbx_str path, unsigned how) {
  return sbx_beneath_find(at, sbx_super.workspace, (const char *)path.data,
                          how);
}

static void file_free(struct file *f) {
  sbx_turn_drop(&f->turn);
  if (f->fd >= 0)
    close(f->fd);
  if (f->temp[0]) {
    sbx_creds_enter();
    unlinkat(f->place.dir, f->temp, 0);
    sbx_creds_leave();
  }
  sbx_beneath_close(&f->place);
  free(f);
}

static void file_end(struct file *f, int rc) {
  uint32_t id = f->channel.id;
  sbx_channel_close(&f->channel);
  file_free(f);
  sbx_files_done(id, rc, "");
}

static void file_forget(struct sbx_channel *c) {
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
  if (n > 0 && want > 0) {
    b->len += 1 + (size_t)n;
    sbx_link_end(f->channel.id, SBX_MSG_DATA);
    f->at += (uint64_t)n;
    f->left -= (uint64_t)n;
    f->credit -= (uint32_t)n;
  } else {
    sbx_link_cancel();
  }
  if (n > 0 && want == 0)
    return; /* for CREDIT */
  if (n <= 0 || (size_t)n < want || f->left == 0)
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
  int rc = f->left > 0 ? -EMSGSIZE
                       : sbx_place_replace(&f->place, f->temp, f->fd, f->mode);
  if (rc == 0)
    f->temp[0] = '\0';
  return rc;
}

static int write_frame(struct sbx_channel *c, const struct sbx_frame *frame) {
  struct file *f = SBX_LIST_OWNER(c, struct file, channel);
  bool data = frame->type == SBX_MSG_DATA;
  uint8_t stream;
  if ((!data && frame->type != SBX_MSG_EOF) ||
      sbx_read_stream(frame, &stream) < 0 || stream != SBX_MSG_STDIN ||
      (data && frame->len == 1))
    return SBX_EPROTO;
  sbx_creds_enter();
  int rc = data ? write_data(f, frame) : write_end(f);
  sbx_creds_leave();
  if (rc < 0 || !data)
    file_end(f, rc);
  else
    sbx_link_credit(c->id, SBX_MSG_STDIN, (uint32_t)frame->len - 1);
  return 0;
}

static const struct sbx_channel_ops read_ops = {read_frame, file_forget};
static const struct sbx_channel_ops write_ops = {write_frame, file_forget};

static int read_open(struct file *f, const struct sbx_msg_file *m) {
  struct sbx_place *at = &f->place;
  f->fd = sbx_place_read(at);
  if (f->fd < 0)
    return f->fd;
  f->at = m->offset;
  f->left = m->offset < (uint64_t)at->st.st_size ? m->length : 0;
  f->credit = m->credit;
  f->turn.take = read_take;
  f->turn.sends = true;
  sbx_turn_queue(&f->turn);
  return 0;
}

static int write_open(struct file *f, const struct sbx_msg_file *m) {
  f->fd = sbx_place_write(&f->place, f->temp, &f->mode);
  f->left = m->length;
  if (m->flags & SBX_FILE_MODE)
    f->mode = m->mode & 0777;
  return f->fd < 0 ? f->fd : 0;
}

static int file_start(uint32_t id, const struct sbx_msg_file *m) {
  bool reads = m->verb == SBX_FILE_READ;
  bool make = !reads && (m->flags & SBX_FILE_PARENTS);
  struct file *f = calloc(1, sizeof(*f));
  if (!f)
    return -ENOMEM;
  f->fd = -1;
  int rc = find(&f->place, m->path,
                SBX_BENEATH_FOLLOW | (make ? SBX_BENEATH_MAKE : 0));
  if (rc == 0)
    rc = reads ? read_open(f, m) : write_open(f, m);
  if (rc < 0) {
    file_free(f); /* there is no new file to remove */
    return rc;
  }
  if (reads)
    sbx_entry_send(id, f->place.dir, f->place.name, &f->place.st);
  sbx_channel_open(&f->channel, id, reads ? &read_ops : &write_ops);
  return 1;
}

/* What is done to an entry itself, at once. */
static int entry_start(uint32_t id, const struct sbx_msg_file *m,
                       const char **text) {
  bool link = m->verb == SBX_FILE_SYMLINK;
  bool make = link && (m->flags & SBX_FILE_PARENTS);
  struct sbx_place at, to;
  int rc = find(&at, m->path, make ? SBX_BENEATH_MAKE : 0);
  if (rc < 0)
    return rc;
  if (link) {
    rc = symlinkat((const char *)m->other.data, at.dir, at.name);
    rc = rc < 0 ? -errno : 0;
  } else if (at.st.st_mode == 0) {
    rc = -ENOENT;
  } else if (m->verb == SBX_FILE_STAT) {
    sbx_entry_send(id, at.dir, at.name, &at.st);
  } else if (m->verb == SBX_FILE_RENAME) {
    *text = "to";
    rc = find(&to, m->other, 0);
    if (rc == 0) {
      rc = sbx_place_rename(&at, &to);
      sbx_beneath_close(&to);
    }
  } else {
    rc = sbx_place_remove(&at);
    if (rc == -ENOTEMPTY && (m->flags & SBX_FILE_RECURSIVE))
      rc = sbx_remove_start(id, &at);
  }
  sbx_beneath_close(&at);
  return rc;
}

/* 1: it goes on; 0 or -errno: it is done. */
static int start(uint32_t id, const struct sbx_msg_file *m, const char **text) {
  int mode = m->flags & SBX_FILE_MODE ? (int)(m->mode & 0777) : -1;
  if (sbx_super.workspace < 0)
    return -ENODEV;
  if (m->verb < SBX_FILE_READ || m->verb > SBX_FILE_WATCH)
    return -EINVAL;
  switch (m->verb) {
  case SBX_FILE_READ:
  case SBX_FILE_WRITE:
    return file_start(id, m);
  case SBX_FILE_LIST:
    return sbx_list_start(id, m);
  case SBX_FILE_MKDIR:
    return sbx_place_mkdir(sbx_super.workspace, (const char *)m->path.data,
                           mode);
  case SBX_FILE_WATCH:
    return sbx_watch_start(id, m);
  default:
    return entry_start(id, m, text);
  }
}

void sbx_files_start(uint32_t id, const struct sbx_msg_file *m) {
  const char *text = "";
  sbx_creds_enter();
  int rc = start(id, m, &text);
  sbx_creds_leave();
  if (rc <= 0)
    sbx_files_done(id, rc, rc < 0 ? text : "");
}
