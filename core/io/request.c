/* SPDX-License-Identifier: MIT */
#include "io/request.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int sbx_request_new(struct sbx_request **out) {
  struct sbx_request *request = calloc(1, sizeof(*request));
  if (!request)
    return -ENOMEM;
  atomic_init(&request->refs, 1);
  *out = request;
  return 0;
}

/* The count is the one thing that sharers change. */
static struct sbx_request *mutable(const struct sbx_request *request) {
  return (struct sbx_request *)(uintptr_t)request;
}

struct sbx_request *sbx_request_ref(const struct sbx_request *request) {
  atomic_fetch_add(&mutable(request)->refs, 1);
  return mutable(request);
}

static void free_strings(char **list) {
  for (char **it = list; it && *it; it++)
    free(*it);
  free(list);
}

void sbx_request_unref(const struct sbx_request *request) {
  struct sbx_request *r = mutable(request);
  if (!r || atomic_fetch_sub(&r->refs, 1) != 1)
    return;
  if (r->kind != NULL)
    r->kind->free(r->plan);
  free_strings(r->argv);
  for (size_t i = 0; i < r->env_count; i++)
    free(r->env_values[i]); /* NULL where it unsets */
  free(r->env_values);
  free_strings(r->env_names);
  free(r->environment);
  free(r->search_path);
  free(r);
}

/* Room for one more and the NULL behind it. */
static int grow(char ***list, size_t count) {
  char **bigger = realloc(*list, (count + 2) * sizeof(char *));
  if (!bigger)
    return -ENOMEM;
  bigger[count] = NULL;
  bigger[count + 1] = NULL;
  *list = bigger;
  return 0;
}

static int copy(char **out, const char *text, size_t len) {
  if (memchr(text, '\0', len))
    return -EINVAL;
  *out = strndup(text, len);
  return *out ? 0 : -ENOMEM;
}

int sbx_request_arg(struct sbx_request *request, const char *arg, size_t len) {
  int rc = grow(&request->argv, request->argc);
  if (rc == 0)
    rc = copy(&request->argv[request->argc], arg, len);
  if (rc == 0)
    request->argc++;
  return rc;
}

int sbx_request_env(struct sbx_request *request, const char *name,
                    size_t name_len, const char *value, size_t value_len) {
  size_t n = request->env_count;
  if (name_len == 0 || memchr(name, '=', name_len))
    return -EINVAL;
  int rc = grow(&request->env_names, n);
  if (rc == 0)
    rc = grow(&request->env_values, n);
  char *value_copy = NULL;
  if (rc == 0 && value)
    rc = copy(&value_copy, value, value_len);
  if (rc == 0)
    rc = copy(&request->env_names[n], name, name_len);
  if (rc < 0) {
    free(value_copy);
    return rc;
  }
  request->env_values[n] = value_copy;
  request->env_count++;
  return 0;
}

static bool defines(const char *entry, const char *name) {
  size_t len = strlen(name);
  return strncmp(entry, name, len) == 0 && entry[len] == '=';
}

/* Does a word of the request, from `from` on, replace this? */
static bool replaced(const struct sbx_request *request, size_t from,
                     const char *entry) {
  for (size_t i = from; i < request->env_count; i++)
    if (defines(entry, request->env_names[i]))
      return true;
  return false;
}

static bool overruled(const struct sbx_request *request, size_t i) {
  for (size_t k = i + 1; k < request->env_count; k++)
    if (strcmp(request->env_names[k], request->env_names[i]) == 0)
      return true;
  return false;
}

char **sbx_request_environment(const struct sbx_request *request) {
  size_t count = request->env_count;
  size_t bytes = 0;
  for (char **it = environ; it && *it; it++, count++)
    bytes += strlen(*it) + 1;
  for (size_t i = 0; i < request->env_count; i++)
    if (request->env_values[i])
      bytes +=
          strlen(request->env_names[i]) + strlen(request->env_values[i]) + 2;

  char **list = malloc((count + 1) * sizeof(char *) + bytes);
  if (!list)
    return NULL;
  char *text = (char *)(list + count + 1);
  size_t n = 0;
  for (char **it = environ; it && *it; it++) {
    if (replaced(request, 0, *it))
      continue;
    list[n++] = text;
    text = stpcpy(text, *it) + 1;
  }
  for (size_t i = 0; i < request->env_count; i++) {
    if (!request->env_values[i] || overruled(request, i))
      continue;
    list[n++] = text;
    text = stpcpy(text, request->env_names[i]);
    *text++ = '=';
    text = stpcpy(text, request->env_values[i]) + 1;
  }
  list[n] = NULL;
  return list;
}

int sbx_request_seal(struct sbx_request *request) {
  if (request->argc == 0 || request->argv[0][0] == '\0')
    return -EINVAL;
  request->environment = sbx_request_environment(request);
  const char *path = getenv("PATH");
  if (path)
    request->search_path = strdup(path);
  return request->environment && (!path || request->search_path) ? 0 : -ENOMEM;
}
