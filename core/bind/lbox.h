/* SPDX-License-Identifier: MIT */
/* lbox.h - runs policy code in a Lua state of its own, under budgets.
 *
 * The state has its own allocator (memory budget), a count hook (budgets of
 * instructions and of processor time) and none of the host's tables. Values
 * cross as copies; a function stays inside and is named by a number. Policy
 * code is given no metatables, coroutines, loaders or finalizers, and its
 * pcall() cannot catch the end of a budget. Lua thread only. */
#ifndef SBX_BIND_LBOX_H
#define SBX_BIND_LBOX_H

#include <lua.h>

/* Pushes the table that Lua sees as `anvia.sandbox.core.box`:
 *   new{memory_bytes, instructions, cpu_ms} -> box
 * and a box has
 *   define(name, bytecode)   trusted code: a dumped function without upvalues
 *   setup(name, ...)         trusted: runs one of them with the environment
 *   run(source, chunk)       runs policy text in the environment
 *   call(id, ...)            calls a function that keep() took
 *   budget(instructions, cpu_ms)   of each later run or call
 *   usage() -> {memory_bytes, peak_bytes, instructions}
 *   close()                  the box then refuses everything
 * setup, run and call -> true, values... | nil, {kind, message}; kind is
 * "instructions", "time", "memory", "syntax", "error" or "value". */
int sbx_box_open(lua_State *L);

#endif
