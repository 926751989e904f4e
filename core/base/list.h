/* SPDX-License-Identifier: MIT */
/* list.h - an intrusive doubly linked ring.
 *
 * The head and every member are a `struct sbx_list`. A member that is in no
 * list points at itself, so removing it again is harmless. The list owns
 * nothing. Not locked: the holder of the head says which thread or lock. */
#ifndef SBX_BASE_LIST_H
#define SBX_BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct sbx_list {
  struct sbx_list *prev;
  struct sbx_list *next;
};

/* The struct that contains `node` as its field `field`. */
#define SBX_LIST_OWNER(node, type, field)                                      \
  ((type *)(void *)((char *)(node)-offsetof(type, field)))

/* `it` may be removed (and freed) in the body; `tmp` may not. */
#define SBX_LIST_EACH(it, tmp, head)                                           \
  for ((it) = (head)->next, (tmp) = (it)->next; (it) != (head);                \
       (it) = (tmp), (tmp) = (it)->next)

static inline void sbx_list_init(struct sbx_list *l) {
  l->prev = l;
  l->next = l;
}

static inline bool sbx_list_empty(const struct sbx_list *head) {
  return head->next == head;
}

static inline void sbx_list_insert(struct sbx_list *at, struct sbx_list *node) {
  node->prev = at;
  node->next = at->next;
  at->next->prev = node;
  at->next = node;
}

static inline void sbx_list_append(struct sbx_list *head,
                                   struct sbx_list *node) {
  sbx_list_insert(head->prev, node);
}

static inline void sbx_list_prepend(struct sbx_list *head,
                                    struct sbx_list *node) {
  sbx_list_insert(head, node);
}

static inline void sbx_list_remove(struct sbx_list *node) {
  node->prev->next = node->next;
  node->next->prev = node->prev;
  sbx_list_init(node);
}

/* The oldest member, taken out; NULL when there is none. */
static inline struct sbx_list *sbx_list_shift(struct sbx_list *head) {
  struct sbx_list *node = head->next;
  if (node == head)
    return NULL;
  sbx_list_remove(node);
  return node;
}

/* Moves all members of `from` to the end of `to`; `from` is then empty. */
static inline void sbx_list_splice(struct sbx_list *to, struct sbx_list *from) {
  if (sbx_list_empty(from))
    return;
  from->next->prev = to->prev;
  to->prev->next = from->next;
  from->prev->next = to;
  to->prev = from->prev;
  sbx_list_init(from);
}

#endif
