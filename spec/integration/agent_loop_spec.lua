-- SPDX-License-Identifier: MIT
local helper = require("spec.helper")

local SCRIPT = "examples/06-agent-loop.lua"

-- Runs the example in this program; what it prints.
local function transcript()
  local lines = {}
  local env = setmetatable({
    arg = { [0] = SCRIPT },
    os = setmetatable({
      getenv = function(name)
        return name == "ANVIA_SANDBOX_IMAGE" and helper.DEBIAN or os.getenv(name)
      end,
    }, { __index = os }),
    print = function(text)
      lines[#lines + 1] = text
    end,
  }, { __index = _G })
  assert(loadfile(SCRIPT, "t", env))()
  return table.concat(lines, "\n") .. "\n"
end

-- What differs from run to run: the host port and the time in the server's log.
local function steady(text)
  local port = assert(text:match("8000/tcp\t127%.0%.0%.1:(%d+)"))
  text = text:gsub("127%.0%.0%.1:" .. port .. "%f[%D]", "127.0.0.1:PORT")
  return (text:gsub("%[%d%d/%a+/%d+ [%d:]+%]", "[TIME]"):gsub("\t", " "))
end

helper.describe("the agent of the examples", { helper.BUSYBOX, helper.DEBIAN }, function()
  it("builds and serves its site, and prints the transcript that is kept", function()
    local file = assert(io.open("examples/agent/transcript.txt"))
    local kept = file:read("a")
    file:close()
    assert.equal(kept, steady(transcript()))
  end)
end)
