-- SPDX-License-Identifier: MIT
-- files_cases.lua - the cases that the file methods of every session must pass,
-- whatever shell and tools are behind them.
--
-- They get a `world`:
--   session        open; its workspace is empty before each case
--   sh(script)     -> what a script prints that runs in the workspace
--   outside()      -> an empty directory that is not in the workspace
--   apply(tree)    writes a manifest
--   written()      -> what on_file_write was told since the last call
--   local_shell    set: there is no container, so root may do everything
--   without_stat   set: there is no stat command
--   all_names      set: try each strange name by itself
--   few_names      set: a fifth of them is enough for archives

local assert = require("luassert")

local M = {}

local GROUPS = { "content", "written", "names", "listing", "trees", "links", "paging",
  "archives" }

-- refused(code, text, call(...)): the call failed like that.
local function refused(code, text, value, err)
  assert.is_nil(value)
  assert.equal(code, err.code)
  assert.truthy(err.message:find(text, 1, true), err.message)
end

--- Declares the cases of all groups, or of some. They are loaded anew each time,
--- because each world has its own.
function M.run(world, groups)
  for _, group in ipairs(groups or GROUPS) do
    local name = assert(package.searchpath("spec.support.files_cases." .. group, package.path))
    assert(loadfile(name))(world, refused)
  end
end

return M
