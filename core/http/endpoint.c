/* SPDX-License-Identifier: MIT */
#include "http/endpoint.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

#define DEFAULT_PORT 2375

static int refuse(struct sbx_err *err, const char *text, const char *why) {
  sbx_fail(err, SBX_EUNAVAILABLE, "the endpoint '%s' %s", text, why);
  return -EINVAL;
}

static int parse_unix(struct sbx_endpoint *e, const char *path,
                      struct sbx_err *err) {
  struct sockaddr_un addr;

  if (path[0] != '/')
    return refuse(err, e->text, "is not an absolute path");
  if (strlen(path) >= sizeof(addr.sun_path))
    return refuse(err, e->text, "is too long for a socket's path");
  e->is_unix = true;
  e->path = strdup(path);
  return e->path != NULL ? 0 : -ENOMEM;
}

static int parse_port(struct sbx_endpoint *e, const char *text,
                      struct sbx_err *err) {
  char *end;
  long port = strtol(text, &end, 10);

  if (text[0] < '0' || text[0] > '9' || port < 1 || port > 65535 ||
      (*end != '\0' && strcmp(end, "/") != 0))
    return refuse(err, e->text, "has no usable port");
  e->port = (uint16_t)port;
  return 0;
}

static int parse_tcp(struct sbx_endpoint *e, const char *at,
                     struct sbx_err *err) {
  const char *host = at, *end;

  e->port = DEFAULT_PORT;
  if (*at == '[') {
    host = at + 1;
    end = strchr(host, ']');
    if (end == NULL)
      return refuse(err, e->text, "has an unfinished address");
    at = end + 1;
  } else {
    end = at + strcspn(at, ":/");
    at = end;
  }
  if (end == host || memchr(host, '@', (size_t)(end - host)) != NULL)
    return refuse(err, e->text, "has no usable host");
  e->host = strndup(host, (size_t)(end - host));
  if (e->host == NULL)
    return -ENOMEM;
  if (*at == ':')
    return parse_port(e, at + 1, err);
  if (*at != '\0' && strcmp(at, "/") != 0)
    return refuse(err, e->text, "has a path");
  return 0;
}

static int parse(struct sbx_endpoint *e, struct sbx_err *err) {
  if (strncmp(e->text, "unix://", 7) == 0)
    return parse_unix(e, e->text + 7, err);
  if (strncmp(e->text, "tcp://", 6) == 0)
    return parse_tcp(e, e->text + 6, err);
  if (strncmp(e->text, "http://", 7) == 0)
    return parse_tcp(e, e->text + 7, err);
  return refuse(err, e->text, "is neither unix:// nor tcp://");
}

int sbx_endpoint_new(struct sbx_endpoint **out, const char *text,
                     struct sbx_err *err) {
  struct sbx_endpoint *e = calloc(1, sizeof(*e));
  int rc;

  if (e == NULL)
    return -ENOMEM;
  atomic_init(&e->refs, 1);
  e->text = strdup(text);
  rc = e->text != NULL ? parse(e, err) : -ENOMEM;
  if (rc < 0) {
    sbx_endpoint_unref(e);
    return rc;
  }
  *out = e;
  return 0;
}

struct sbx_endpoint *sbx_endpoint_ref(struct sbx_endpoint *e) {
  atomic_fetch_add(&e->refs, 1);
  return e;
}

void sbx_endpoint_unref(struct sbx_endpoint *e) {
  if (e == NULL || atomic_fetch_sub(&e->refs, 1) != 1)
    return;
  free(e->text);
  free(e->path);
  free(e->host);
  free(e);
}
